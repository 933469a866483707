#compdef snipara-sandbox
# zsh completion for snipara-sandbox; installed as _snipara-sandbox

_snipara_sandbox_policies() {
    local -a names
    names=(${(f)"$(snipara-sandbox policy list --json 2>/dev/null | sed -n 's/^ *"name": "\([A-Za-z0-9_.-]*\)".*/\1/p')"})
    compadd -a names
}

_snipara_sandbox() {
    local -a commands
    local state line
    commands=(
        'exec:run one snippet and print what it printed'
        'mcp-serve:serve MCP clients on standard input and output'
        'policy:list, show and check policies'
        'doctor:show which walls this host can build'
        'version:show versions'
        'help:show the commands, or the text of one'
    )
    _arguments -C '1:command:->command' '*::argument:->argument' && return
    case $state in
        command) _describe command commands ;;
        argument)
            case $line[1] in
                exec)
                    _arguments \
                        '-c[the source itself]:code:' \
                        '(-p --policy)'{-p,--policy}'[what the code may do]:policy:_snipara_sandbox_policies' \
                        '--timeout[stop after this long]:seconds:' \
                        '--memory[memory limit, as 512M]:size:' \
                        '*--file[put a file into /session]:file:_files' \
                        '--json[print the receipt and nothing else]' \
                        '--help[show help]' \
                        '1:source file:_files'
                    ;;
                policy)
                    _arguments '1:verb:(list show check trust)' '2:policy or file:{ [[ $words[2] == show ]] && _snipara_sandbox_policies || _files }' \
                        '--explain[each rule in words]' '--json[print JSON and nothing else]' '--help[show help]'
                    ;;
                doctor | version) _arguments '--json[print JSON and nothing else]' '--help[show help]' ;;
                mcp-serve) _arguments '--help[show help]' ;;
                help) _describe command commands ;;
            esac
            ;;
    esac
}

_snipara_sandbox "$@"
