# bash completion for tamis; written by 'tamis --completion bash'
_tamis() {
    local IFS=$'\n' current=${COMP_WORDS[COMP_CWORD]} offered
    offered=$(tamis --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
    if [[ $offered == :files ]]; then
        COMPREPLY=($(compgen -f -- "$current"))
        type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
    else
        COMPREPLY=($offered)
    fi
}
complete -F _tamis tamis
