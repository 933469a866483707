# fish completion for snipara-sandbox

function __snipara_sandbox_policies
    snipara-sandbox policy list --json 2>/dev/null | string match -rg '^ *"name": "([A-Za-z0-9_.-]*)"'
end

set -l commands exec mcp-serve policy doctor version help
set -l none "not __fish_seen_subcommand_from $commands"
complete -c snipara-sandbox -f
complete -c snipara-sandbox -n $none -a exec -d 'run one snippet and print what it printed'
complete -c snipara-sandbox -n $none -a mcp-serve -d 'serve MCP clients on standard input and output'
complete -c snipara-sandbox -n $none -a policy -d 'list, show and check policies'
complete -c snipara-sandbox -n $none -a doctor -d 'show which walls this host can build'
complete -c snipara-sandbox -n $none -a version -d 'show versions'
complete -c snipara-sandbox -n $none -a help -d 'show the commands, or the text of one'
complete -c snipara-sandbox -n $none -l version -d 'show versions'
complete -c snipara-sandbox -l help -d 'show help'

complete -c snipara-sandbox -n '__fish_seen_subcommand_from exec' -F
complete -c snipara-sandbox -n '__fish_seen_subcommand_from exec' -s c -x -d 'the source itself'
complete -c snipara-sandbox -n '__fish_seen_subcommand_from exec' -s p -l policy -x -a '(__snipara_sandbox_policies)' -d 'what the code may do'
complete -c snipara-sandbox -n '__fish_seen_subcommand_from exec' -l timeout -x -d 'stop after so many seconds'
complete -c snipara-sandbox -n '__fish_seen_subcommand_from exec' -l memory -x -d 'memory limit, as 512M'
complete -c snipara-sandbox -n '__fish_seen_subcommand_from exec' -l file -r -F -d 'put a file into /session'

set -l verbs list show check trust
complete -c snipara-sandbox -n "__fish_seen_subcommand_from policy; and not __fish_seen_subcommand_from $verbs" -a "$verbs"
complete -c snipara-sandbox -n '__fish_seen_subcommand_from policy; and __fish_seen_subcommand_from show' -a '(__snipara_sandbox_policies)'
complete -c snipara-sandbox -n '__fish_seen_subcommand_from policy; and __fish_seen_subcommand_from check trust' -F
complete -c snipara-sandbox -n '__fish_seen_subcommand_from policy' -l explain -d 'each rule in words'
complete -c snipara-sandbox -n '__fish_seen_subcommand_from exec policy doctor version' -l json -d 'print one JSON document and nothing else'
complete -c snipara-sandbox -n '__fish_seen_subcommand_from help' -a "$commands"
