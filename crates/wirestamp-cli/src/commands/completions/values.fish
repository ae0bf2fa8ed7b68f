
# What only this host knows: its interfaces, and the presets of the program.
complete -c wirestamp -n "__fish_seen_subcommand_from @COMMANDS@" -f -a "(wirestamp complete interfaces -- (commandline -opc) 2>/dev/null)"
complete -c wirestamp -l sim -r -F -a "(wirestamp complete presets 2>/dev/null)"
