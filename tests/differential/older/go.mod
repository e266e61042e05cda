// Names the module; each version has a file of modules of its own (go build -modfile=v29.mod).
module espalier.dev/older

go 1.24
