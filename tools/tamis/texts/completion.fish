# fish completion for tamis; written by 'tamis --completion fish'
function __tamis_offered
    set -l words (commandline -opc)[2..-1] (commandline -ct)
    set -l offered (tamis --complete $words 2>/dev/null)
    if test "$offered[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        string join \n -- $offered
    end
end
complete -c tamis -f -a '(__tamis_offered)'
