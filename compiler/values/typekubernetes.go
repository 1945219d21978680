package values

import (
	"slices"
	"strings"
)

// A convention is what charts mean by a name: a part of a Kubernetes object,
// which their templates pass on as a whole.
type convention struct {
	names  string              // of the key, in lower case, between blanks
	fields string              // between blanks
	below  map[string][]string // fields of the fields that have known ones
}

// conventions are the parts of Kubernetes' API that charts have among their
// values under the same names. A part that Kubernetes has in two versions, as
// the security context of a pod and of a container, has the fields of both.
func conventions() []convention {
	return []convention{
		{" resources ", "limits requests claims", nil},
		{
			" securitycontext podsecuritycontext containersecuritycontext ", "allowPrivilegeEscalation appArmorProfile capabilities fsGroup fsGroupChangePolicy privileged procMount " +
				"readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxChangePolicy seLinuxOptions seccompProfile supplementalGroups " +
				"supplementalGroupsPolicy sysctls windowsOptions", map[string][]string{
				"capabilities":   {"add", "drop"},
				"seccompProfile": {"type", "localhostProfile"},
				"seLinuxOptions": {"level", "role", "type", "user"},
			},
		},
		{
			" livenessprobe readinessprobe startupprobe ", "exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds " +
				"successThreshold tcpSocket terminationGracePeriodSeconds timeoutSeconds", map[string][]string{
				"httpGet":   {"host", "httpHeaders", "path", "port", "scheme"},
				"tcpSocket": {"host", "port"},
				"grpc":      {"port", "service"},
				"exec":      {"command"},
			},
		},
		{" updatestrategy ", "type rollingUpdate", map[string][]string{"rollingUpdate": {"maxSurge", "maxUnavailable", "partition"}}},
		{" affinity ", "nodeAffinity podAffinity podAntiAffinity", nil},
	}
}

// numberOrText reports whether a value with this key, in a map with that one,
// is mostly for a field that Kubernetes takes as a number or as text: a port, a
// quantity, a share of pods.
func numberOrText(key, parent string) bool {
	key, parent = strings.ToLower(key), strings.ToLower(parent)
	switch parent {
	case "requests", "limits":
		return true
	}
	for _, end := range []string{"port", "ports", "maxunavailable", "minavailable", "maxsurge"} {
		if strings.HasSuffix(key, end) || strings.HasSuffix(parent, end) && end == "ports" {
			return true
		}
	}
	return false
}

// adopt gives a map that is passed on as a whole the fields that Kubernetes has
// under its name, and closes it. The chart's own keys stay: some are for the
// template alone. It reports whether there is such a name.
func (t *Type) adopt(key string) bool {
	if t.Known&Defaults == 0 || t.seen&^(Map|Null) != 0 || t.Open || t.closed || t.missing {
		return false
	}
	for _, c := range conventions() {
		fields := strings.Fields(c.fields)
		// A chart that means something else by the name has other keys. The name
		// has to be exact where there are none: extraResources is something else.
		known := slices.ContainsFunc(t.Keys, func(k string) bool { return slices.Contains(fields, k) })
		if !slices.ContainsFunc(strings.Fields(c.names), func(name string) bool {
			low := strings.ToLower(key)
			return low == name && len(t.Keys) == 0 || strings.HasSuffix(low, name) && known
		}) {
			continue
		}
		for _, name := range fields {
			f := t.field(name)
			f.know(Templates, "")
			if below := c.below[name]; below != nil && f.seen&^(Map|Null) == 0 {
				for _, k := range below {
					f.field(k).know(Templates, "")
				}
				f.kubernetes = true
			}
		}
		t.kubernetes = true
		return true
	}
	return false
}
