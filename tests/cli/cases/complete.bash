# Completes a line as bash would and prints the candidates.
. <(tamis --completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_tamis
printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
echo
