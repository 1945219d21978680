package git

import (
	"os"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// FilePrefix begins the names of files of a commit in faults.
const FilePrefix = "git:"

// RevisionFaults returns faults in the files of a checkout as faults in the files of the
// commit: their files begin with [FilePrefix] and the name of the commit.
func RevisionFaults(dir, ref string, err error) error {
	plain := strings.NewReplacer(dir+string(os.PathSeparator), ref+":", dir, ref)
	return diag.Changed(err, func(d *diag.Diag) {
		d.At = slices.Clone(d.At)
		for i, p := range d.At {
			if file := strings.TrimPrefix(p.File, dir+"/"); !strings.HasPrefix(file, "/") {
				d.At[i].File = FilePrefix + ref + ":" + file
			}
		}
		if len(d.At) == 0 {
			d.At = []diag.Pos{{File: FilePrefix + ref}}
		}
		d.Path, d.Msg, d.Hint = plain.Replace(d.Path), plain.Replace(d.Msg), plain.Replace(d.Hint)
	})
}
