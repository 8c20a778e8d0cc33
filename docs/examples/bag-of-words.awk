# Counts words: awk -f bag-of-words.awk -v name=manual *.md writes manual.ldac, a paragraph a document, and manual.vocab, a word a
# line. Words have four letters or more, occur in five documents or more and in no more than a fifth of them.
BEGIN { RS = "" }
{
    text = tolower($0)
    gsub(/[^a-z]+/, " ", text)
    count = split(text, word, " ")
    if (count < 12) next
    documents++
    for (i = 1; i <= count; i++) {
        if (length(word[i]) < 4) continue
        if (!(documents SUBSEP word[i] in counted)) { counted[documents, word[i]] = 0; list[documents] = list[documents] " " word[i]; occurs[word[i]]++ }
        counted[documents, word[i]]++
    }
}
END {
    for (d = 1; d <= documents; d++) {
        count = split(list[d], word, " ")
        line = ""
        kept = 0
        for (i = 1; i <= count; i++) {
            w = word[i]
            if (occurs[w] < 5 || occurs[w] > documents / 5) continue
            if (!(w in id)) { id[w] = words++; print w > (name ".vocab") }
            line = line " " id[w] ":" counted[d, w]
            kept++
        }
        if (kept > 0) print kept line > (name ".ldac")
    }
}
