package mount_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/race"
)

// TestAuthorLeavesBounds is U3: each way by which the author of a mount would leave the bounds of
// the team is refused with its place in the mount's repository and the reason, and changes no byte
// of any response.
func TestAuthorLeavesBounds(t *testing.T) {
	mounts := mountsOf(t, fleettest.Snapshot("rev", fleetFiles()))
	const (
		web  = "defaults/workloads/cart-web/values.yaml"
		apps = "defaults/application-sets/workloads.yaml"
	)
	entry := func(keys string) map[string]string { return map[string]string{apps: "cart-web: {" + keys + "}\n"} }
	file := func(p string) map[string]string { return map[string]string{p: "a: 1\n"} }
	for name, c := range map[string]struct {
		files map[string]string
		extra []*snapshot.File
		at    string // of the first problem
		want  string
	}{
		"namespace of another team":        {files: entry("namespace: card"), at: apps + ":1:23", want: `namespace of component "cart-web" of group "workloads": "card" is not the team's`},
		"namespace of another's prefix":    {files: entry("namespace: card-x"), at: apps + ":1:23", want: "is not the team's"},
		"namespace that begins like its":   {files: entry("namespace: cartx"), at: apps + ":1:23", want: "is not the team's"},
		"namespace of Kubernetes":          {files: entry("namespace: kube-system"), at: apps + ":1:23", want: "is not the team's"},
		"namespace taken away":             {files: entry("namespace: null"), at: apps + ":1:23", want: "is not the team's"},
		"namespace by a template":          {files: entry(`namespace: "cart-{{ .tenant }}/../x"`), at: apps + ":1:23", want: "is not the team's"},
		"namespace by template of a fact":  {files: entry(`namespace: "{{ .labels.ns }}"`), at: apps + ":1:23", want: "is not the team's"},
		"project of another":               {files: entry("project: default"), at: apps + ":1:21", want: `is "default"`},
		"project by a template":            {files: entry(`project: "team-{{ .tenant }}"`), at: apps + ":1:21", want: `expected "team-cart", or none`},
		"chart of another repository":      {files: entry("chart: {repoURL: https://evil.example/x}"), at: apps + ":1:29", want: "not one that the team may deploy from"},
		"chart in the short form":          {files: entry("chart: x, repoURL: oci://evil.example"), at: apps + ":1:31", want: "not one that the team may deploy from"},
		"repository with dots":             {files: entry("repoURL: https://git.example.com/shop/.."), at: apps + ":1:21", want: "not one that the team may deploy from"},
		"repository by a template":         {files: entry(`repoURL: "https://git.example.com/shop/{{ .x }}/y"`), at: apps + ":1:21", want: "not one that the team may deploy from"},
		"repository by template that fits": {files: entry(`repoURL: "https://git.example.com/shop/{{ b64dec \"Li4vYmFuaw==\" }}"`), at: apps + ":1:21", want: "not one that the team may deploy from"},
		"chart's path upwards":             {files: entry("path: ../../charts/team-project"), at: apps + ":1:18", want: "leaves the repository"},
		"chart's path by a template":       {files: entry(`chart: {path: '{{ printf "%s%s" "." "." }}/x'}`), at: apps + ":1:26", want: "leaves the repository"},
		"chart's name upwards":             {files: entry("chart: {name: ../../bank/chart}"), at: apps + ":1:26", want: "leaves the repository"},
		"chart taken away":                 {files: entry("chart: null"), at: apps + ":1:19", want: "is a null"},
		"cluster-scoped by sync options":   {files: entry("syncPolicy: {syncOptions: [CreateNamespace=true]}"), at: apps + ":1:12", want: `key "syncPolicy"`},
		"a patch of the ApplicationSet":    {files: entry("templatePatch: 'spec: {project: default}'"), at: apps + ":1:12", want: `key "templatePatch"`},
		"another destination":              {files: entry("destination: {name: hub}"), at: apps + ":1:12", want: `key "destination"`},
		"a further source":                 {files: entry("additionalSources: []"), at: apps + ":1:12", want: `key "additionalSources"`},
		"raw manifests":                    {files: entry("kind: manifests"), at: apps + ":1:12", want: `key "kind"`},
		"a dependency of the platform's":   {files: entry("dependsOn: [addons/dns]"), at: apps + ":1:12", want: `key "dependsOn"`},
		"entry of another team":            {files: map[string]string{apps: "card-web: {enabled: false}\n"}, at: apps + ":1:1", want: "it is not the team's"},
		"entry whose name its is a prefix": {files: map[string]string{apps: "cart-web-x: {enabled: true}\n"}, at: apps + ":1:1", want: "it is not the team's"},
		"entry of the platform":            {files: map[string]string{apps: "platform: null\n"}, at: apps + ":1:1", want: "it is not the team's"},
		"entry that is new":                {files: map[string]string{apps: "mine: {enabled: true, project: team-cart}\n"}, at: apps + ":1:1", want: "it is not the team's"},
		"entry taken away":                 {files: map[string]string{apps: "cart-web: null\n"}, at: apps + ":1:11", want: "expected a map"},
		"entry beside components":          {files: map[string]string{apps: "components: {cart-web: {}}\ncard-web: {enabled: false}\n"}, at: apps + ":1:1", want: "has keys beside components"},
		"catalog of another group":         {files: file("defaults/application-sets/addons.yaml"), at: "defaults/application-sets/addons.yaml", want: `catalog of group "addons": its components are not the team's`},
		"catalog of the group teams":       {files: file("defaults/application-sets/teams.yaml"), at: "defaults/application-sets/teams.yaml", want: "not the team's"},
		"catalog that is a template":       {files: map[string]string{apps + ".gotmpl": "{{ .tenant }}-web: {enabled: false}\n"}, at: apps + ".gotmpl", want: "is a template"},
		"values of another team":           {files: file("defaults/workloads/card-web/values.yaml"), at: "defaults/workloads/card-web/values.yaml", want: "it is not the team's"},
		"values by a template":             {files: file("defaults/workloads/card-web/values.yaml.gotmpl"), at: "defaults/workloads/card-web/values.yaml.gotmpl", want: "it is not the team's"},
		"values of the platform":           {files: file("defaults/addons/dns/values.yaml"), at: "defaults/addons/dns/values.yaml", want: "it is not the team's"},
		"labels of a cluster":              {files: file("defaults/fleet/fleet-secret/values.yaml"), at: "defaults/fleet/fleet-secret/values.yaml", want: "it is not the team's"},
		"the team's own presets":           {files: file("defaults/teams/team-cart/values.yaml"), at: "defaults/teams/team-cart/values.yaml", want: "it is not the team's"},
		"levels of another tenant":         {files: file("tenants/bank/defaults/workloads/cart-web/values.yaml"), at: "tenants/bank/defaults/workloads/cart-web/values.yaml", want: `team "cart" is of tenant "shop"`},
		"a cluster of another tenant":      {files: file("tenants/shop/clusters/bank-1/workloads/cart-web/values.yaml"), at: "tenants/shop/clusters/bank-1/workloads/cart-web/values.yaml", want: "does not reach the cluster"},
		"a cluster of the tenant's":        {files: file("tenants/shop/clusters/shop-2/workloads/cart-web/values.yaml"), at: "tenants/shop/clusters/shop-2/workloads/cart-web/values.yaml", want: "does not reach the cluster"},
		"case folded":                      {files: file("Tenants/Shop/Defaults/workloads/cart-web/values.yaml"), at: "Tenants/Shop/Defaults/workloads/cart-web/values.yaml", want: "case of letters"},
		"a file beside":                    {files: file("defaults/workloads/cart-web/values.yml"), at: "defaults/workloads/cart-web/values.yml", want: "no values file or catalog"},
		"layout":                           {files: file("fleet/layout.yaml"), at: "fleet/layout.yaml", want: "only the fleet repository has such a file"},
		"layout case folded":               {files: file("FLEET/Layout.yaml"), at: "FLEET/Layout.yaml", want: "only the fleet repository"},
		"member":                           {files: file("fleet/fleet-members/hub/evil.yaml"), at: "fleet/fleet-members/hub/evil.yaml", want: "only the fleet repository"},
		"team":                             {files: file("fleet/teams/cart.yaml"), at: "fleet/teams/cart.yaml", want: "only the fleet repository"},
		"approval":                         {files: file("fleet/approvals/mine.yaml"), at: "fleet/approvals/mine.yaml", want: "only the fleet repository"},
		"versions":                         {files: file("versions/applicationSets.yaml"), at: "versions/applicationSets.yaml", want: "only the fleet repository"},
		"catalog of the layout":            {files: file("catalogs/workloads.yaml"), at: "catalogs/workloads.yaml", want: "only the fleet repository"},
		"root of a group":                  {files: file("workloads/defaults/workloads/cart-web/values.yaml"), at: "workloads/defaults/workloads/cart-web/values.yaml", want: "root folder of a group"},
		"dots":                             {files: file("defaults/../../../fleet/x/values.yaml"), at: "defaults/../../../fleet/x/values.yaml", want: "characters that a fleet's files do not have"},
		"NUL":                              {files: file("defaults/workloads/cart-web\x00/values.yaml"), at: "defaults/workloads/cart-web\x00/values.yaml", want: "characters that a fleet's files do not have"},
		"a line break":                     {files: file("defaults/workloads/cart-web\n/values.yaml"), at: "defaults/workloads/cart-web\n/values.yaml", want: "characters"},
		"right to left":                    {files: file("defaults/workloads/cart-web\u202e/values.yaml"), at: "defaults/workloads/cart-web\u202e/values.yaml", want: "characters"},
		"link of a file":                   {extra: []*snapshot.File{snapshot.Outside(web, "../../../../../fleet/layout.yaml")}, at: web, want: "leads out of the repository"},
		"link of a folder":                 {extra: []*snapshot.File{snapshot.Outside("tenants", "/fleet")}, at: "tenants", want: "leads out of the repository"},
		"huge file":                        {extra: []*snapshot.File{snapshot.TooLarge(web, 1<<30, 1<<20)}, at: web, want: "file of 1073741824 bytes"},
		"unreadable folder":                {extra: []*snapshot.File{snapshot.Unreadable("defaults", true, fs.ErrPermission)}, at: "defaults", want: "folder cannot be read"},
		"not YAML":                         {files: map[string]string{web: "a: [\n"}, at: web + ":1", want: "expected a YAML document"},
	} {
		t.Run(name, func(t *testing.T) {
			files := []*snapshot.File{}
			for p, text := range c.files {
				files = append(files, snapshot.NewFile(p, []byte(text), snapshot.MaxFileSize))
			}
			part, problems := mounts.Scopes[0].Read(snapshot.Of(append(files, c.extra...)), snapshot.Part{})
			if len(problems) == 0 {
				t.Fatal("it is accepted")
			}
			p := problems[0]
			if !strings.HasPrefix(p.Pos.String(), "https://git.example.com/shop/cart.git//"+c.at) || !strings.Contains(p.Message(), c.want) || p.Severity != problem.Error {
				t.Errorf("got %s", p.Error())
			}
			if len(part.Files()) > 0 {
				t.Errorf("%d files are joined", len(part.Files()))
			}
		})
	}
}

// What a team's repository has of its own besides the fleet's is not read, and no problem.
func TestOtherFilesOfMountAreNotRead(t *testing.T) {
	main := fleettest.Snapshot("rev", fleetFiles())
	joined, problems := read(t, main, fleettest.Snapshot("1", fleettest.Tree{
		"overlays/prod/kustomization.yaml": "resources: [x]\n", ".github/workflows/ci.yaml": "a: [\n", "package.json": "{}", "src/main/resources/application.yaml": "a: 1\n", "a\nb.yaml": "",
	}))
	if len(problems) > 0 || joined.Len() != main.Len() {
		t.Errorf("%v, %d files", problems, joined.Len()-main.Len())
	}
}

// A mount whose team is gone may write nothing, and says so at the layout.
func TestMountWithoutTeam(t *testing.T) {
	files := fleetFiles()
	delete(files, "fleet/teams/cart.yaml")
	_, problems := read(t, fleettest.Snapshot("rev", files), fleettest.Snapshot("1", fleettest.Tree{"defaults/workloads/cart-web/values.yaml": "a: 1\n"}))
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), `fleet/layout.yaml:7:3: mount "apps/cart": there is no team "cart"`) {
		t.Error(problems)
	}
}

// TestMountTakesLittleTime: values count with aliases as often as they are used, and beyond the
// limit no further file is parsed: each commit of the fleet looks at a mount's files again. (H10,
// U3)
func TestMountTakesLittleTime(t *testing.T) {
	mounts := mountsOf(t, fleettest.Snapshot("rev", fleetFiles()))
	for name, text := range map[string]string{
		"aliases": "a: &a [" + strings.Repeat("1,", 60) + "]\nb: &b [" + strings.Repeat("*a,", 60) + "]\nc: [" + strings.Repeat("*b,", 110) + "]\n",
		"broken":  "a: &a [" + strings.Repeat("1,", 60) + "]\nb: &b [" + strings.Repeat("*a,", 60) + "]\nc: [" + strings.Repeat("*b,", 110) + "]\nd: !!int x\n",
	} {
		var files []*snapshot.File
		for i := range 4500 {
			files = append(files, snapshot.NewFile(fmt.Sprintf("tenants/shop/environments/e%d/workloads/cart-web/values.yaml", i), []byte(text), snapshot.MaxFileSize))
		}
		began := time.Now()
		part, problems := mounts.Scopes[0].Read(snapshot.Of(files), snapshot.Part{})
		if took := time.Since(began); took > 8*race.Slack*time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
		if len(part.Files()) > 0 || !slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Reason == problem.LimitExceeded }) {
			t.Errorf("%s: %d files are joined: %v", name, len(part.Files()), problems)
		}
	}
}
