# What only this host knows: its interfaces, and the presets of the program.
_wirestamp_interfaces() {
    local -a found
    found=(${(f)"$(_call_program interfaces wirestamp complete interfaces -- ${(q)${(z)LBUFFER}} 2>/dev/null)"})
    compadd -a found
}
_wirestamp_presets() {
    local -a found
    found=(${(f)"$(_call_program presets wirestamp complete presets 2>/dev/null)"})
    compadd -a found
    _files
}

