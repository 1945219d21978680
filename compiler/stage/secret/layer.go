package secret

import (
	"path"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// layers is the directory of layers, relative to the root.
const layers = "environments"

// CheckLayers returns a fault for each secret of a cluster whose file is in the directory
// of a layer that the cluster does not have, such as that of another environment. ids are
// the IDs of all clusters of the fleet.
func CheckLayers(c *fleet.Cluster, ids []string) error {
	var faults diag.List
	for _, s := range c.Secrets {
		layer := layerOf(s.SOPS, ids)
		if layer == "" || fleet.IsWithin(c.ID, layer) {
			continue
		}
		faults.Add(&diag.Diag{
			Code: diag.CodeSecretInvalid,
			At:   []diag.Pos{s.Pos}, Path: "secrets." + s.Name + ".sops",
			Msg:  "the file " + diag.Visible(s.SOPS, diag.MaxText) + " is in the layer " + layer + ", which is not one of this cluster",
			Hint: "name a file of the cluster's own layers, or move this one to the directory that they share",
		})
	}
	return diag.In(c.ID, faults.Err())
}

// layerOf returns the layer in whose directory a file is: the longest beginning of a
// cluster's ID. It is empty for a file in the root layer or outside of the layers.
func layerOf(file string, ids []string) string {
	rel, ok := strings.CutPrefix(file, layers+"/")
	if !ok {
		return ""
	}
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		for _, id := range ids {
			if fleet.IsWithin(id, dir) {
				return dir
			}
		}
	}
	return ""
}
