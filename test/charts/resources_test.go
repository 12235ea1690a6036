package charts_test

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

const (
	gp3     = "storageClasses: {gp3: {provisioner: ebs.csi.aws.com}}\n"
	general = "clusterName: retail\nnodePools: {general: {requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}}\n"
)

func TestStorageClassesGoldens(t *testing.T) { chartGoldens(t, storageClasses) }

func TestKarpenterNodePoolsGoldens(t *testing.T) { chartGoldens(t, karpenterNodePools) }

// Drivers' defaults give way to what a class says, also where it says false; numbers become exact
// text.
func TestStorageClassDefaults(t *testing.T) {
	class := one[*storagev1.StorageClass](t, rendering{}.objects(t, storageClasses, gp3), "gp3")
	if !*class.AllowVolumeExpansion || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		t.Errorf("class: %+v", class)
	}
	assert.Equal(t, map[string]string{"type": "gp3", "encrypted": "true"}, class.Parameters, "parameters")
	class = one[*storagev1.StorageClass](t, rendering{}.objects(t, storageClasses, gp3,
		`storageClasses: {gp3: {allowVolumeExpansion: "false", parameters: {encrypted: false, iops: 16000000, type: null}}}`), "gp3")
	if *class.AllowVolumeExpansion {
		t.Error("allowVolumeExpansion: got true")
	}
	assert.Equal(t, map[string]string{"encrypted": "false", "iops": "16000000"}, class.Parameters, "parameters")
}

// An explicit null of a higher level removes an entry (H2).
func TestNullRemovesEntries(t *testing.T) {
	if objects := (rendering{}).objects(t, storageClasses, gp3, "storageClasses: {gp3: null}"); len(objects) != 0 {
		t.Errorf("got %d classes, want none", len(objects))
	}
	objects := rendering{}.objects(t, karpenterNodePools, general, "nodePools: {general: null}\nnodeClasses: {default: null}")
	if len(objects) != 0 {
		t.Errorf("got %d objects, want none", len(objects))
	}
}

func TestResourcesBadValues(t *testing.T) {
	for _, c := range []struct{ chart, base, values, message string }{
		{storageClasses, gp3, "storageClasses: {x: {}}", "storageClasses.x.provisioner is required"},
		{storageClasses, gp3, "storageClasses: {gp3: {default: true}, x: {provisioner: p, default: 'true'}}", "a cluster has one default class, found 2: gp3, x"},
		{storageClasses, gp3, "storageClasses: {efs: {provisioner: efs.csi.aws.com}}", "storageClasses.efs.parameters.fileSystemId is required"},
		{storageClasses, gp3, "storageClasses: {gp3: {parameters: {type: io2}}}", "volumes of type io2 need iops or iopsPerGB"},
		{storageClasses, gp3, "storageClasses: {gp3: {parameters: {iops: 1, iopsPerGB: 1}}}", "iops and iopsPerGB contradict each other"},
		{storageClasses, gp3, "storageClasses: {gp3: {reclaimPolicy: Keep}}", "at '/storageClasses/gp3/reclaimPolicy': value must be one of 'Delete', 'Retain'"},
		{storageClasses, gp3, "storageClasses: {gp3: {reclaimpolicy: Delete}}", "at '/storageClasses/gp3': additional properties 'reclaimpolicy' not allowed"},
		{storageClasses, gp3, "storageClasses: {GP3: {provisioner: p}}", "does not match pattern"},
		{storageClasses, gp3, "classes: {}", "at '': additional properties 'classes' not allowed"},

		{karpenterNodePools, general, "clusterName: ''", "clusterName is required: nodeClasses.default finds its role"},
		{karpenterNodePools, general, "nodePools: {general: {nodeClass: gpu}}", `nodePools.general.nodeClass: no node class "gpu"; there are: default`},
		{karpenterNodePools, general, "nodeClasses: {default: null}", `no node class "default"; there are: none`},
		{karpenterNodePools, general, "nodePools: {general: {requirements: []}}", "nodePools.general.requirements is required"},
		{karpenterNodePools, general, "nodePools: {general: {requirements: [{key: a, operator: In}]}}", "nodePools.general.requirements[0] (a): In needs values"},
		{karpenterNodePools, general, "nodePools: {general: {requirements: [{key: a, operator: Exists, values: [x]}]}}", "Exists takes no values"},
		{karpenterNodePools, general, "nodePools: {general: {requirements: [{key: a, operator: Gt, values: [x]}]}}", "Gt takes one whole number"},
		{karpenterNodePools, general, "nodePools: {general: {requirements: [{key: a, operator: Gt, values: [5]}]}}", "at '/nodePools/general/requirements/0/values/0': got number, want string"},
		{karpenterNodePools, general, "nodePools: {general: {nodeClass: default, nodeClassRef: {group: g, kind: k, name: x}}}", "nodeClass and nodeClassRef contradict each other"},
		{karpenterNodePools, general, "nodePools: {general: {weight: 0}}", "at '/nodePools/general/weight': minimum: got 0, want 1"},
		{karpenterNodePools, general, "nodePools: {general: {expireAfter: 30d}}", "at '/nodePools/general/expireAfter': '30d' does not match pattern"},
		{karpenterNodePools, general, "nodePools: {general: {limits: {cpu: many}}}", "at '/nodePools/general/limits/cpu': 'many' does not match pattern"},
		{karpenterNodePools, general, "nodePools: {general: {disruption: {budgets: [{nodes: 10 %}]}}}", "does not match pattern"},
		{karpenterNodePools, general, "nodeClasses: {default: {role: a, instanceProfile: b}}", "nodeClasses.default: role and instanceProfile contradict each other"},
		{karpenterNodePools, general, "nodeClasses: {default: {amiSelectorTerms: []}}", "nodeClasses.default.amiSelectorTerms is required"},
		{karpenterNodePools, general, "nodeClasses: {default: {amiSelectorTerms: [{id: ami-1}]}}", "nodeClasses.default.amiFamily is required"},
		{karpenterNodePools, general, "nodeClasses: {default: {amiSelectorTerms: [{alias: al2023@latest}, {id: ami-1}]}}", "an alias stands alone, found 2 terms"},
		{karpenterNodePools, general, "nodeClasses: {default: {instanceTypes: []}}", "at '/nodeClasses/default': additional properties 'instanceTypes' not allowed"},
		{karpenterNodePools, general, "provisioners: {}", "at '': additional properties 'provisioners' not allowed"},
	} {
		t.Run(c.values, func(t *testing.T) { rendering{}.fails(t, c.message, c.chart, c.base, c.values) })
	}
}

// A pool names a class that the same release makes.
func TestNodePoolsReferToTheirClass(t *testing.T) {
	objects := rendering{}.objects(t, karpenterNodePools, general)
	names := map[string]string{}
	for _, object := range objects {
		custom := object.(runtime.Unstructured).(*unstructured.Unstructured)
		names[custom.GetKind()] = custom.GetName()
		if ref, found, _ := unstructured.NestedString(custom.Object, "spec", "template", "spec", "nodeClassRef", "name"); found {
			names["ref"] = ref
		}
	}
	assert.Equal(t, map[string]string{"NodePool": "general", "EC2NodeClass": "default", "ref": "default"}, names)
}
