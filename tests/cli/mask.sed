# What depends on the machine's load.
# on a machine that does other things
s/interrupted after [0-9]+ of [0-9]+ cases; the completed measurements have been written/interrupted/
/ceilings are doubtful, and so are the floors/d
/^  doubtful: .* while they were measured/d
/other processes used/d
# Numbers that differ from run to run and from machine to machine.
/^[$#] /b
s/[0-9]+(\.[0-9]+)? (ns|us|ms|s)( |,|;|\)|$)/<time>\3/g
s/\([0-9]+ MB\/s\)/(<speed>)/g
s/[0-9.e+-]+ GFLOP\/s/<speed>/g
s/on cpu, [0-9]+ threads?:/on cpu, <threads>:/
s/(no CUDA driver|no OpenCL loader): .*/\1: <why>/
s/^(opencl|cuda)(  absent: ).*/\1\2<why>/
s/[0-9.]+x the floor/<ratio> the floor/g
s/relative error [0-9.e+-]+ against/relative error <error> against/g
s/"(read_ms|setup_ms|check_ms|execute_ms|gflops|floor_ms|predicted_ms|relative_error|instruction_set|device|threads)": [^,}]+/"\1": <value>/g
s/"reason": "requested by name; [^"]*"/"reason": <reason>/
s/^(  file       )[^,]+,/\1<size>,/
s/: sddmm [0-9]+ %, spmm [0-9]+ %, fused [0-9]+ %/: <shares>/
