
# What only this host knows: its interfaces, and the presets of the program.
_wirestamp_values() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    if [ "$previous" = --sim ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(wirestamp complete presets 2>/dev/null)" -- "$current"; compgen -f -- "$current")
        return
    fi
    _wirestamp "$@"
    case $current:$previous in -*:* | *:-*) return ;; esac
    local word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case " @COMMANDS@ " in *" $word "*)
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
                compgen -W "$(wirestamp complete interfaces -- "${COMP_WORDS[@]}" 2>/dev/null)" -- "$current"
            )
            return
            ;;
        esac
    done
}
complete -F _wirestamp_values -o bashdefault -o default wirestamp
