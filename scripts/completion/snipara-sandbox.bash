# bash completion for snipara-sandbox

_snipara_sandbox_policies() {
    snipara-sandbox policy list --json 2>/dev/null | sed -n 's/^ *"name": "\([A-Za-z0-9_.-]*\)".*/\1/p'
}

_snipara_sandbox() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W 'exec mcp-serve policy doctor version help --help --version' -- "$word")
        return
    fi
    case $command:$previous in
        exec:--policy | exec:-p | policy:show)
            mapfile -t COMPREPLY < <(compgen -W "$(_snipara_sandbox_policies)" -- "$word")
            return
            ;;
        exec:-c | exec:--timeout | exec:--memory) return ;;
        exec:--output-dir)
            mapfile -t COMPREPLY < <(compgen -d -- "$word")
            return
            ;;
        exec:--file | policy:check | policy:trust)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        policy:policy)
            mapfile -t COMPREPLY < <(compgen -W 'list show check trust --help' -- "$word")
            return
            ;;
        help:help)
            mapfile -t COMPREPLY < <(compgen -W 'exec mcp-serve policy doctor version' -- "$word")
            return
            ;;
    esac
    case $command in
        exec)
            if [[ $word == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '-c -p --policy --timeout --memory --file --output-dir --json --help' -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi
            ;;
        policy) mapfile -t COMPREPLY < <(compgen -W '--explain --json --help' -- "$word") ;;
        doctor | version) mapfile -t COMPREPLY < <(compgen -W '--json --help' -- "$word") ;;
        mcp-serve) mapfile -t COMPREPLY < <(compgen -W '--help --spares' -- "$word") ;;
    esac
}

complete -o filenames -F _snipara_sandbox snipara-sandbox
