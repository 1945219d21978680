package objects

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"
)

func TestInstallOrder(t *testing.T) {
	if got := strings.Fields(installOrder); !slices.Equal(got, []string(releaseutil.InstallOrder)) {
		t.Errorf("got %v\nHelm has %v", got, releaseutil.InstallOrder)
	}
	ranks := kindRanks()
	if ranks["PriorityClass"] != 0 || ranks["APIService"] != len(ranks)-1 {
		t.Errorf("ranks %v", ranks)
	}
}
