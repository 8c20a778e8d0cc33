#compdef tamis
# zsh completion for tamis; written by 'tamis --completion zsh'
_tamis() {
    local -a offered
    offered=("${(@f)$(tamis --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ $offered[1] == :files ]]; then
        _files
    else
        offered=("${(@)offered//:/\\:}")
        offered=("${(@)offered/$'\t'/:}")
        _describe tamis offered
    fi
}
_tamis "$@"
