package kube

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestFieldKeysAreThoseOfKubernetes checks every list of Kubernetes types that
// has a merge key.
func TestFieldKeysAreThoseOfKubernetes(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var lists int
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			walk(f.Type)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			key := f.Tag.Get("patchMergeKey")
			if key == "" || f.Type.Elem().Kind() != reflect.Struct {
				continue
			}
			lists++
			if !slices.ContainsFunc(fieldKeys(name), func(k mergeKey) bool { return len(k) == 1 && k[0] == key }) {
				t.Errorf("%s.%s: the key of %s is %s, and not one of %v", typ, f.Name, name, key, fieldKeys(name))
			}
		}
	}
	for _, v := range []any{
		corev1.Pod{},
		corev1.Service{},
		corev1.Node{},
		corev1.ServiceAccount{},
		corev1.PersistentVolumeClaim{},
		corev1.Namespace{},
		corev1.ReplicationController{},
		appsv1.Deployment{},
		appsv1.StatefulSet{},
		appsv1.DaemonSet{},
		appsv1.ReplicaSet{},
		batchv1.CronJob{},
		admissionv1.ValidatingWebhookConfiguration{},
		admissionv1.MutatingWebhookConfiguration{},
		admissionv1.ValidatingAdmissionPolicy{},
	} {
		walk(reflect.TypeOf(v))
	}
	if lists < 30 {
		t.Errorf("only %d lists have keys", lists)
	}
}
