package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/validate"
)

// A control is a policy of the Pod Security Standards with pods that it allows
// and refuses. A pod is a spec, or a spec with metadata in front; C{...} stands
// for one container with these fields.
type control struct {
	policy           string
	allowed, refused []string
}

// everywhere returns a setting in the containers of each kind.
func everywhere(settings ...string) []string {
	var out []string
	for _, s := range settings {
		for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
			out = append(out, fmt.Sprintf("%s: [{name: a, securityContext: {runAsNonRoot: true}}, {name: b, %s}]", list, s))
		}
	}
	return out
}

// onPodsAndContainers returns a security context for a pod, and for its
// containers of each kind.
func onPodsAndContainers(contexts ...string) []string {
	var out []string
	for _, c := range contexts {
		out = append(out, "securityContext: {"+c+"}")
		out = append(out, everywhere("securityContext: {"+c+"}")...)
	}
	return out
}

// with returns combinations of the settings.
func with(other string, settings []string) []string {
	var out []string
	for _, s := range settings {
		out = append(out, other+"\n"+s)
	}
	return out
}

func join(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

var standards = []control{
	{
		"HostProcess",
		join([]string{"{}"}, onPodsAndContainers("windowsOptions: {hostProcess: false}", "windowsOptions: {}", "windowsOptions: {hostProcess: null}")),
		onPodsAndContainers("windowsOptions: {hostProcess: true}"),
	},
	{
		"HostNamespaces",
		[]string{"{}", "{hostNetwork: false, hostPID: false, hostIPC: false}", "hostNetwork: null"},
		[]string{"hostNetwork: true", "hostPID: true", "hostIPC: true"},
	},
	{
		"PrivilegedContainers",
		everywhere("securityContext: {privileged: false}", "securityContext: {}", "image: x"),
		everywhere("securityContext: {privileged: true}"),
	},
	{
		"Capabilities",
		everywhere(
			"securityContext: {capabilities: {add: [AUDIT_WRITE, CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, MKNOD, NET_BIND_SERVICE, SETFCAP, SETGID, SETPCAP, SETUID, SYS_CHROOT]}}",
			"securityContext: {capabilities: {add: [], drop: [SYS_ADMIN]}}", "securityContext: {capabilities: {}}",
		),
		everywhere("securityContext: {capabilities: {add: [SYS_ADMIN]}}", "securityContext: {capabilities: {add: [CHOWN, NET_RAW]}}", "securityContext: {capabilities: {add: [chown]}}"),
	},
	{
		"HostPath",
		[]string{"{}", "volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: null}]"},
		[]string{"volumes: [{name: a, hostPath: {path: /}}]", "volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {}}]"},
	},
	{
		"HostPorts",
		everywhere("ports: [{containerPort: 80}, {containerPort: 81, hostPort: 0}]", "ports: []"),
		everywhere("ports: [{containerPort: 80}, {containerPort: 81, hostPort: 81}]"),
	},
	{
		"HostProbes",
		everywhere(`livenessProbe: {httpGet: {port: 1}}, readinessProbe: {tcpSocket: {port: 1, host: ""}}, startupProbe: {exec: {command: [x]}}, lifecycle: {preStop: {sleep: {seconds: 1}}}`),
		everywhere(
			"livenessProbe: {httpGet: {port: 1, host: 127.0.0.1}}", "readinessProbe: {httpGet: {port: 1, host: x}}", "startupProbe: {httpGet: {port: 1, host: x}}",
			"livenessProbe: {tcpSocket: {port: 1, host: x}}", "readinessProbe: {tcpSocket: {port: 1, host: x}}", "startupProbe: {tcpSocket: {port: 1, host: x}}",
			"lifecycle: {postStart: {httpGet: {port: 1, host: x}}}", "lifecycle: {preStop: {httpGet: {port: 1, host: x}}}",
			"lifecycle: {postStart: {tcpSocket: {port: 1, host: x}}}", "lifecycle: {preStop: {tcpSocket: {port: 1, host: x}}}",
		),
	},
	{
		"AppArmor",
		join(
			onPodsAndContainers("appArmorProfile: {type: RuntimeDefault}", "appArmorProfile: {type: Localhost, localhostProfile: x}"),
			[]string{
				"metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: runtime/default, other: unconfined}}",
				"metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: localhost/x, container.apparmor.security.beta.kubernetes.io/b: ''}}",
			},
		),
		join(
			onPodsAndContainers("appArmorProfile: {type: Unconfined}", "appArmorProfile: {}"),
			[]string{"metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined}}"},
		),
	},
	{
		"SELinux",
		onPodsAndContainers(
			"seLinuxOptions: {type: container_t}", "seLinuxOptions: {type: container_init_t}", "seLinuxOptions: {type: container_kvm_t}",
			"seLinuxOptions: {type: container_engine_t}", "seLinuxOptions: {level: s0}", "seLinuxOptions: {type: '', user: '', role: ''}",
		),
		onPodsAndContainers("seLinuxOptions: {type: spc_t}", "seLinuxOptions: {user: system_u}", "seLinuxOptions: {role: system_r}"),
	},
	{
		"ProcMount",
		join(everywhere("securityContext: {procMount: Default}", "securityContext: {}"), with("hostUsers: false", everywhere("securityContext: {procMount: Unmasked}"))),
		join(everywhere("securityContext: {procMount: Unmasked}"), with("hostUsers: true", everywhere("securityContext: {procMount: Unmasked}"))),
	},
	{
		"Seccomp",
		onPodsAndContainers("seccompProfile: {type: RuntimeDefault}", "seccompProfile: {type: Localhost, localhostProfile: x}", "runAsUser: 0"),
		onPodsAndContainers("seccompProfile: {type: Unconfined}", "seccompProfile: {}"),
	},
	{
		"Sysctls",
		[]string{
			"securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: '0'}, {name: net.ipv4.ip_local_port_range, value: '1'}, {name: net.ipv4.ip_unprivileged_port_start, value: '1'}, {name: net.ipv4.tcp_syncookies, value: '1'}, {name: net.ipv4.ping_group_range, value: '1'}]}",
			"securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports, value: '1'}, {name: net.ipv4.tcp_keepalive_time, value: '1'}, {name: net.ipv4.tcp_fin_timeout, value: '1'}, {name: net.ipv4.tcp_keepalive_intvl, value: '1'}, {name: net.ipv4.tcp_keepalive_probes, value: '1'}]}",
			"securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1'}, {name: net.ipv4.tcp_wmem, value: '1'}, {name: net.ipv4.tcp_slow_start_after_idle, value: '1'}, {name: net.ipv4.tcp_notsent_lowat, value: '1'}]}",
			"securityContext: {sysctls: []}", "{}",
		},
		[]string{"securityContext: {sysctls: [{name: kernel.msgmax, value: '1'}]}", "securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1'}, {name: net.core.somaxconn, value: '1'}]}"},
	},
	{
		"VolumeTypes",
		[]string{
			"{}", "volumes: [{name: a, configMap: {}}, {name: b, csi: {driver: x}}, {name: c, downwardAPI: {}}, {name: d, emptyDir: {}}, {name: e, ephemeral: {}}]",
			"volumes: [{name: a, image: {reference: x}}, {name: b, persistentVolumeClaim: {claimName: x}}, {name: c, projected: {}}, {name: d, secret: {}}, {name: e}]",
		},
		[]string{
			"volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {path: /}}]", "volumes: [{name: a, nfs: {server: x, path: /}}]", "volumes: [{name: a, gitRepo: {repository: x}}]",
			"volumes: [{name: a, gcePersistentDisk: {pdName: x}}]", "volumes: [{name: a, awsElasticBlockStore: {volumeID: x}}]", "volumes: [{name: a, iscsi: {}}]",
			"volumes: [{name: a, glusterfs: {}}]", "volumes: [{name: a, rbd: {}}]", "volumes: [{name: a, flexVolume: {}}]", "volumes: [{name: a, cinder: {}}]",
			"volumes: [{name: a, cephfs: {}}]", "volumes: [{name: a, flocker: {}}]", "volumes: [{name: a, fc: {}}]", "volumes: [{name: a, azureFile: {}}]",
			"volumes: [{name: a, vsphereVolume: {}}]", "volumes: [{name: a, quobyte: {}}]", "volumes: [{name: a, azureDisk: {}}]", "volumes: [{name: a, portworxVolume: {}}]",
			"volumes: [{name: a, scaleIO: {}}]", "volumes: [{name: a, storageos: {}}]", "volumes: [{name: a, photonPersistentDisk: {}}]",
		},
	},
	{
		"PrivilegeEscalation",
		join([]string{"containers: [{name: a, securityContext: {allowPrivilegeEscalation: false}}]\nephemeralContainers: [{name: b, securityContext: {allowPrivilegeEscalation: false}}]"},
			with("os: {name: windows}", everywhere("image: x"))),
		join(everywhere("image: x", "securityContext: {allowPrivilegeEscalation: true}", "securityContext: {allowPrivilegeEscalation: null}"), with("os: {name: linux}", everywhere("image: x"))),
	},
	{
		"NonRoot",
		join(
			everywhere("securityContext: {runAsNonRoot: true}"), with("securityContext: {runAsNonRoot: true}", everywhere("image: x", "securityContext: {}")),
			with("hostUsers: false", everywhere("image: x", "securityContext: {runAsNonRoot: false}")),
		),
		join(
			everywhere("image: x", "securityContext: {}", "securityContext: {runAsNonRoot: false}"), with("securityContext: {runAsNonRoot: true}", everywhere("securityContext: {runAsNonRoot: false}")),
			with("securityContext: {runAsNonRoot: false}", everywhere("securityContext: {runAsNonRoot: true}")), with("hostUsers: true", everywhere("image: x")),
		),
	},
	{
		"NonRootUser",
		join(onPodsAndContainers("runAsUser: 1000", "runAsNonRoot: true"), with("hostUsers: false", onPodsAndContainers("runAsUser: 0"))),
		join(onPodsAndContainers("runAsUser: 0", "runAsUser: 0.0"), with("hostUsers: true", onPodsAndContainers("runAsUser: 0"))),
	},
	{
		"SeccompRequired",
		join(
			[]string{"containers: [{name: a, securityContext: {seccompProfile: {type: Localhost, localhostProfile: x}}}]\ninitContainers: [{name: b, securityContext: {seccompProfile: {type: RuntimeDefault}}}]"},
			with("securityContext: {seccompProfile: {type: RuntimeDefault}}", everywhere("image: x", "securityContext: {seccompProfile: {type: Localhost, localhostProfile: x}}")),
			with("os: {name: windows}", everywhere("image: x")),
		),
		join(
			everywhere("image: x", "securityContext: {seccompProfile: {type: Unconfined}}"),
			with("securityContext: {seccompProfile: {type: RuntimeDefault}}", everywhere("securityContext: {seccompProfile: {type: Unconfined}}")),
			with("securityContext: {seccompProfile: {type: Unconfined}}", everywhere("image: x")),
		),
	},
	{
		"CapabilitiesDropped",
		join(
			[]string{"containers: [{name: a, securityContext: {capabilities: {drop: [ALL]}}}, {name: b, securityContext: {capabilities: {drop: [CHOWN, ALL], add: [NET_BIND_SERVICE]}}}]"},
			with("os: {name: windows}", everywhere("image: x")),
		),
		everywhere("image: x", "securityContext: {capabilities: {}}", "securityContext: {capabilities: {drop: [CHOWN]}}", "securityContext: {capabilities: {drop: [all]}}",
			"securityContext: {capabilities: {drop: [ALL], add: [CHOWN]}}"),
	},
	{
		"ProcMountMasked",
		everywhere("securityContext: {procMount: Default}", "image: x"),
		join(everywhere("securityContext: {procMount: Unmasked}"), with("hostUsers: false", everywhere("securityContext: {procMount: Unmasked}"))),
	},
}

// alike makes the first container of everywhere valid for all controls, if the
// control checks all containers.
func alike(name, pod string) string {
	first := map[string]string{
		"PrivilegeEscalation": "allowPrivilegeEscalation: false", "SeccompRequired": "seccompProfile: {type: RuntimeDefault}", "CapabilitiesDropped": "capabilities: {drop: [ALL]}",
	}[name]
	if first == "" || !strings.Contains(pod, "{name: a, securityContext: {runAsNonRoot: true}}") {
		return pod
	}
	return strings.Replace(pod, "{runAsNonRoot: true}", "{"+first+"}", 1)
}

// makers wrap the template of a pod in each kind that creates pods.
var makers = map[string]string{
	"v1 Pod": "", "v1 PodTemplate": "template", "v1 ReplicationController": "spec.template", "apps/v1 Deployment": "spec.template", "apps/v1 StatefulSet": "spec.template",
	"apps/v1 DaemonSet": "spec.template", "apps/v1 ReplicaSet": "spec.template", "batch/v1 Job": "spec.template", "batch/v1 CronJob": "spec.jobTemplate.spec.template",
}

// workload returns a pod, or an object that creates it.
func workload(t *testing.T, kind, pod string) fleet.Object {
	t.Helper()
	m := map[string]any{}
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(pod), &spec); err != nil {
		t.Fatalf("%s: %v", pod, err)
	}
	if meta, ok := spec["metadata"]; ok {
		m["metadata"] = meta
		delete(spec, "metadata")
	}
	m["spec"] = spec
	if path := makers[kind]; path != "" {
		parts := strings.Split(path, ".")
		for i := range parts {
			m = map[string]any{parts[len(parts)-1-i]: m}
		}
	}
	u := &unstructured.Unstructured{Object: m}
	version, name, _ := strings.Cut(kind, " ")
	u.SetAPIVersion(version)
	u.SetKind(name)
	u.SetName("x")
	return fleet.Object{Unstructured: u}
}

// TestPodSecurityStandards checks every control with allowed and refused pods,
// and with the kinds that create pods.
func TestPodSecurityStandards(t *testing.T) {
	kinds := []string{"apps/v1 Deployment", "v1 PodTemplate", "batch/v1 CronJob", "apps/v1 StatefulSet", "v1 ReplicationController", "apps/v1 DaemonSet", "batch/v1 Job", "apps/v1 ReplicaSet"}
	for _, s := range standards {
		t.Run(s.policy, func(t *testing.T) {
			c := cluster(t, "package fleet\n\nimport \"github.com/fleetc/fleetc/lib/policy\"\n\npolicies: p: policy.#"+s.policy+"\n")
			var k validate.PolicyChecker
			for i, pod := range s.allowed {
				for _, kind := range []string{"v1 Pod", kinds[i%len(kinds)]} {
					if err := k.Objects(t.Context(), c, []fleet.Object{workload(t, kind, alike(s.policy, pod))}, ""); err != nil {
						t.Errorf("%s %s: %s", kind, pod, text(err))
					}
				}
			}
			for i, pod := range s.refused {
				for _, kind := range []string{"v1 Pod", kinds[i%len(kinds)]} {
					o := workload(t, kind, alike(s.policy, pod))
					err := k.Objects(t.Context(), c, []fleet.Object{o}, "")
					all := diag.All(err)
					if len(all) != 1 || !strings.Contains(all[0].Msg, ": ") || strings.Contains(all[0].Msg, "and 1 more") || strings.Contains(all[0].Msg, "(containers[0] is a") {
						t.Errorf("%s %s: %s", kind, pod, text(err))
					}
				}
			}
		})
	}
}

// TestSets tests that each set has all controls of its level.
func TestSets(t *testing.T) {
	for set, n := range map[string]int{"Baseline": 12, "Restricted": 19} {
		c := cluster(t, "package fleet\n\nimport (\n\t\"github.com/fleetc/fleetc/lib/policy\"\n\t\"github.com/fleetc/fleetc/schema\"\n)\n\npolicies: schema.#Policies\n"+
			"policies: policy.#"+set+"\npolicies: \"host-path\": waivers: w: reason: \"r\"\npolicies: own: {message: \"m\", object: spec?: {...}}\n")
		if len(c.Policies) != n+1 {
			t.Errorf("%s: %d policies", set, len(c.Policies)-1)
		}
		for _, p := range c.Policies {
			if want := map[bool]string{true: "environments/fleet0.cue:11:11", false: "environments/fleet0.cue:9:11"}[p.Name == "own"]; p.Pos.String() != want {
				t.Errorf("%s: at %s", p.Name, p.Pos)
			}
		}
		var k validate.PolicyChecker
		got := text(k.Objects(t.Context(), c, []fleet.Object{workload(t, "v1 Pod", "hostPID: true\nvolumes: [{name: a, hostPath: {path: /}}]\ncontainers: [{name: c, image: x}]")}, ""))
		for what, want := range map[string]bool{"hostPID is true": true, "securityContext is missing": set == "Restricted", "hostPath must": false} {
			if strings.Contains(got, what) != want {
				t.Errorf("%s: %q in\n%s", set, what, got)
			}
		}
	}
}

// TestAllMakers tests that every kind that creates pods is checked.
func TestAllMakers(t *testing.T) {
	c := cluster(t, "package fleet\n\nimport \"github.com/fleetc/fleetc/lib/policy\"\n\npolicies: p: policy.#HostNamespaces\n")
	for kind, path := range makers {
		var k validate.PolicyChecker
		got := text(k.Objects(t.Context(), c, []fleet.Object{workload(t, kind, "hostIPC: true")}, ""))
		if want := strings.TrimPrefix(path+".spec.hostIPC is true", "."); !strings.Contains(got, want) {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
