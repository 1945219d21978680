package validate

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Descriptions of valid names for messages.
const (
	subdomain = "lower case letters, digits, - and ., with a letter or digit at both ends of each part between dots, at most 253 in all"
	label     = "lower case letters, digits and -, with a letter or digit at both ends, at most 63 in all"
	dns1035   = "lower case letters, digits and -, with a letter first and a letter or digit last, at most 63 in all"
	segment   = "printable characters without / and %, and not . or .."
	keyName   = "letters, digits, -, _ and ., at most 253 in all"
)

// serviceNamesRelaxed is the minor version since which the name of a Service
// may start with a digit (feature gate RelaxedServiceNameValidation).
const serviceNamesRelaxed = 36

// illegalName returns the description of valid names if the API server of the
// minor version rejects the object's name, or an empty string.
func illegalName(o fleet.Object, gk schema.GroupKind, minor int) (want string) {
	name := o.GetName()
	switch gk.String() {
	case "Namespace", "StatefulSet.apps":
		return unless(len(validation.IsDNS1123Label(name)) == 0, label)
	case "Service":
		if minor >= serviceNamesRelaxed {
			return unless(len(validation.IsDNS1123Label(name)) == 0, label)
		}
		return unless(len(validation.IsDNS1035Label(name)) == 0, dns1035)
	case "Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io",
		"RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
		"CertificateSigningRequest.certificates.k8s.io", "PodDisruptionBudget.policy", "Event":
		return unless(isSegment(name), segment)
	case "LeaseCandidate.coordination.k8s.io":
		return unless(len(validation.IsConfigMapKey(name)) == 0, keyName)
	case "CronJob.batch": // its jobs append eleven characters
		return unless(isSubdomain(name) && len(name) <= 52, "at most 52 characters: "+subdomain)
	case "Job.batch": // its pods have it as a label
		return unless(isSubdomain(name) && len(name) <= 63, "at most 63 characters: "+subdomain)
	case "IPAddress.networking.k8s.io":
		ip, err := netip.ParseAddr(name)
		return unless(err == nil && ip.Zone() == "", "an IP address")
	case "ClusterTrustBundle.certificates.k8s.io":
		signer, _, _ := unstructured.NestedString(o.Object, "spec", "signerName")
		return trustBundleName(name, signer)
	case crdKind:
		return joinedName(o, name, "names.plural")
	case "APIService.apiregistration.k8s.io":
		// The name of the APIService of the core group ends in a dot: v1.
		if group, _, _ := unstructured.NestedString(o.Object, "spec", "group"); group == "" {
			name = strings.TrimSuffix(name, ".")
			break
		}
		return joinedName(o, name, "version")
	}
	return unless(isSubdomain(name), subdomain)
}

func unless(legal bool, want string) string {
	if legal {
		return ""
	}
	return want
}

func isSubdomain(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// isSegment reports whether a name is one segment of a URL path. The API server
// also accepts unprintable characters, which are unsafe in terminals and file
// systems.
func isSegment(name string) bool {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	return name != "." && name != ".." && !strings.ContainsAny(name, "/%") && !strings.ContainsFunc(name, unprintable)
}

// trustBundleName checks the name of a ClusterTrustBundle, which begins with
// the name of its signer, if it has one.
func trustBundleName(name, signer string) (want string) {
	if signer == "" {
		return unless(isSubdomain(name), subdomain)
	}
	prefix := strings.ReplaceAll(signer, "/", ":") + ":"
	rest, ok := strings.CutPrefix(name, prefix)
	// The signer itself is untrusted text.
	return unless(ok && isSubdomain(rest) && isSegment(name), visible(prefix)+" followed by "+subdomain)
}

// joinedName checks a name of the form FIELD.GROUP with fields of the spec.
// Missing fields are reported elsewhere.
func joinedName(o fleet.Object, name, field string) (want string) {
	first, _, _ := unstructured.NestedString(o.Object, append([]string{"spec"}, strings.Split(field, ".")...)...)
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	if first != "" && group != "" && name != first+"."+group {
		return fmt.Sprintf("%q, from spec.%s and spec.group", visible(first+"."+group), field)
	}
	return unless(isSubdomain(name), subdomain)
}

// visible returns a text for messages: short and printable.
func visible(s string) string { return diag.Visible(s, diag.MaxText) }
