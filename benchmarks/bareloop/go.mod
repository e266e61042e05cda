module bareloop

go 1.26.0
