/* Short citations of the algorithms' papers: authors, and the beginning of the title. docs/algorithms.md has full
   citations; the report groups methods by authors (lab/python). */
#ifndef TAMIS_BASE_PAPERS_H
#define TAMIS_BASE_PAPERS_H

#define PAPER_GPU_DYNAMIC "Costa et al.: Efficient SDDMM Algorithms on GPU"
#define PAPER_PREDS       "Yu et al.: Exploiting Online Locality and Reduction Parallelism"
#define PAPER_STUDY       "Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels"
#define PAPER_ESIMD       "Zubair, Bauinger: Sparse Matrix Kernels on Intel Max Series GPU"
#define PAPER_CUSDDMM     "Nisa et al.: Sampled Dense Matrix Multiplication"
#define PAPER_TILING      "Wilkinson et al.: Register Tiling for Unstructured Sparsity"

#endif
