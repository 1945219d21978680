// Package lib holds the libraries for users: ready policies and patches in CUE,
// and fleetc.libsonnet for Jsonnet. The files are embedded in the binary, and a
// user's repository vendors those in CUE beside the schema. The package reads
// and writes nothing.
package lib

import "embed"

// ImportPath is the CUE import path of the directory with the libraries.
const ImportPath = "github.com/fleetc/fleetc/lib"

// Files are fleetc.libsonnet, and the CUE files of each library in a directory of
// its own.
//
//go:embed fleetc.libsonnet */*.cue
var Files embed.FS
