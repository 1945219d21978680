// Package lib contains libraries for users: policies and patches in CUE, and
// fleetc.libsonnet for Jsonnet. The files are embedded in the binary; a user's
// repository contains copies of the CUE libraries beside the schema.
package lib

import "embed"

// ImportPath is the CUE import path of the directory with the libraries.
const ImportPath = "github.com/fleetc/fleetc/lib"

// Files contains fleetc.libsonnet, and a directory with CUE files for each
// library.
//
//go:embed fleetc.libsonnet */*.cue
var Files embed.FS
