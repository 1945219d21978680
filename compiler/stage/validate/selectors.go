package validate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// selectorRequirement checks one expression of a label selector.
func (w *walk) selectorRequirement(m map[string]any) {
	switch operator, values := w.requirement(m); operator {
	case "In", "NotIn":
		for i, v := range values {
			if text, ok := v.(string); ok && !isLabelValue(text) {
				w.add("", "is "+w.show(text)+", which is not a valid value: it must be "+labelValue, "values", i)
			}
		}
	case "", "Exists", "DoesNotExist":
	default:
		allowed := []string{"DoesNotExist", "Exists", "In", "NotIn"}
		w.add(didYouMean(operator, allowed), "is "+w.show(operator)+", not one of "+strings.Join(allowed, ", "), "operator")
	}
}

// nodeRequirement checks one expression of a node selector.
func (w *walk) nodeRequirement(m map[string]any) {
	operator, values := w.requirement(m)
	if (operator == "Gt" || operator == "Lt") && len(values) != 1 {
		w.add("give one number", fmt.Sprintf("has %d items, but operator %s requires one", len(values), operator), "values")
	}
}

// requirement checks the key of an expression, and whether it has values for its operator.
func (w *walk) requirement(m map[string]any) (operator string, values []any) {
	if key, ok := m["key"].(string); ok && key != "" && !isLabelKey(key) {
		w.add("", "is "+w.show(key)+", which is not a valid key: it must be "+labelKey, "key")
	}
	operator, _ = m["operator"].(string)
	values = listOf(m, "values")
	switch {
	case (operator == "In" || operator == "NotIn") && len(values) == 0:
		w.add("set them", "is missing or empty, which operator "+operator+" needs", "values")
	case (operator == "Exists" || operator == "DoesNotExist") && len(values) > 0:
		w.add("leave them out", "is set, but operator "+operator+" does not allow it", "values")
	}
	return operator, values
}

// didYouMean is [diag.DidYouMean] without long words.
func didYouMean(word string, among []string) string {
	if len(word) > maxShown {
		return ""
	}
	return diag.DidYouMean(word, among)
}

// workload checks a workload and its pod template together.
func (w *walk) workload(definition string, m map[string]any) {
	w.within(m, "replicas", 0, unbounded)
	restart, _ := mapOf(mapOf(m["template"])["spec"])["restartPolicy"].(string)
	switch definition {
	case batch + "CronJobSpec":
		w.cronJob(m)
		return
	case batch + "JobSpec":
		for _, f := range []string{"parallelism", "completions", "backoffLimit", "activeDeadlineSeconds"} {
			w.within(m, f, 0, unbounded)
		}
		if mapOf(m["template"])["spec"] != nil && (restart == "" || restart == "Always") {
			w.add("set it to OnFailure or Never", "is Always, which is also the default: the pods of a Job cannot have it", "template", "spec", "restartPolicy")
		}
		if m["manualSelector"] == true {
			w.selects(m)
		} else if m["selector"] != nil {
			w.add("leave it out, or set manualSelector: true", "is set, but Kubernetes sets it itself", "selector")
		}
		return
	}
	if restart != "" && restart != "Always" && slices.Contains([]string{"Never", "OnFailure"}, restart) {
		w.add("leave it out", "is "+show(restart)+", but must be Always", "template", "spec", "restartPolicy")
	}
	if definition == apps+"StatefulSetSpec" {
		w.claims = nil
		for _, c := range listOf(m, "volumeClaimTemplates") {
			if name, ok := mapOf(mapOf(c)["metadata"])["name"].(string); ok {
				w.claims = append(w.claims, name)
			}
		}
	}
	if definition == core+"ReplicationControllerSpec" {
		w.labels(m, "selector")
		if m["selector"] != nil {
			w.matches(labels.SelectorFromSet(stringsOf(m["selector"])), m)
		}
		return
	}
	if definition == apps+"ReplicaSetSpec" && m["template"] == nil {
		w.add("set it", "is missing", "template")
	}
	w.selects(m)
}

// selects checks that a label selector selects the pods of the template.
func (w *walk) selects(m map[string]any) {
	selector := mapOf(m["selector"])
	if selector == nil {
		return // reported as missing
	}
	var typed metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &typed) != nil {
		return // reported as a wrong type
	}
	if len(typed.MatchLabels)+len(typed.MatchExpressions) == 0 {
		w.add("give it matchLabels", "is empty", "selector")
		return
	}
	parsed, err := metav1.LabelSelectorAsSelector(&typed)
	if err != nil {
		return // reported at its value
	}
	w.matches(parsed, m)
}

// matches reports a selector that does not select the pods of the template.
func (w *walk) matches(s labels.Selector, m map[string]any) {
	template := mapOf(m["template"])
	if template == nil {
		return
	}
	podLabels := stringsOf(mapOf(template["metadata"])["labels"])
	if s.Matches(podLabels) {
		return
	}
	w.add("give the template those labels", "selects "+shorten(s.String())+", but the labels of the template are "+labelsText(podLabels), "selector")
}

func labelsText(l labels.Set) string {
	if len(l) == 0 {
		return "none"
	}
	return shorten(l.String())
}

// stringsOf returns the string values of a map.
func stringsOf(v any) labels.Set {
	out := labels.Set{}
	for k, v := range mapOf(v) {
		if text, ok := v.(string); ok || v == nil {
			out[k] = text
		}
	}
	return out
}
