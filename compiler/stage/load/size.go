package load

import (
	"os"
	"path/filepath"

	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/diag/cuediag"
)

// maxSource is how many bytes a file of CUE, or one that CUE embeds, may have. CUE
// reads a file of this size in ten seconds, and cannot be interrupted meanwhile.
const maxSource = 4 << 20

const tooLarge = "the file is larger than 4 MiB"

// checkSize returns a fault at a place when a file below root is too large.
func checkSize(root, name string, at diag.Pos) *diag.Diag {
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil || info.Size() <= maxSource {
		return nil // a file that cannot be read is a fault of its reader
	}
	d := &diag.Diag{At: []diag.Pos{at}, Msg: tooLarge, Hint: "split it"}
	if at.File != name {
		d.Msg = "the embedded file " + diag.Visible(name, diag.MaxText) + " is larger than 4 MiB"
		d.Hint = "split it, or keep the data elsewhere"
	}
	return d
}

// checkEmbedded reports the files that an instance embeds and that are too large.
func checkEmbedded(root string, in *build.Instance) error {
	var faults diag.List
	for _, file := range filesOf([]*build.Instance{in}) {
		embeds, _ := cuediag.Embeds(root, file) // CUE reports what is wrong
		for _, e := range embeds {
			if d := checkSize(root, e.Name, e.Pos); d != nil {
				faults.Add(d)
			}
		}
	}
	return faults.Err()
}
