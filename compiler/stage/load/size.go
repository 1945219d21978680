package load

import (
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// maxSource is how many bytes a file of CUE, or one that CUE embeds, may have. CUE
// reads a file of this size in ten seconds, and cannot be interrupted meanwhile.
const maxSource = 4 << 20

const tooLarge = "the file is larger than 4 MiB"

// checkSize returns a fault at a place when a file below root is too large, or no regular
// file.
func checkSize(root, name string, at diag.Pos) *diag.Diag {
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	if err == nil && isSpecial(info.Mode()) {
		return specialFile(at, name)
	}
	if err != nil || info.Size() <= maxSource {
		return nil // a file that cannot be read is a fault of its reader
	}
	d := &diag.Diag{Code: diag.CodeFileSize, At: []diag.Pos{at}, Msg: tooLarge, Hint: "split it"}
	if at.File != name {
		d.Msg = "the embedded file " + diag.Visible(name, diag.MaxText) + " is larger than 4 MiB"
		d.Hint = "split it, or keep the data elsewhere"
	}
	return d
}
