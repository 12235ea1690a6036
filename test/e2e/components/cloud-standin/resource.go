package standin

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// kind is a type of resource.
type kind struct {
	schema schema.Schema
	// create checks an object and fills in what AWS would. Its id is the attribute "id".
	create func(c cloud, o object) error
	// isGlobal says that the service has no regions.
	isGlobal bool
}

// genericResource is a kind as the framework has it.
type genericResource struct {
	name string
	kind
	cloud cloud
}

func (r *genericResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.name
}

func (r *genericResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.schema
}

func (r *genericResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if c, ok := req.ProviderData.(cloud); ok {
		r.cloud = c
	}
}

// place is where an object is.
func (r *genericResource) place(o object) cloud {
	if r.isGlobal {
		return r.cloud.in(global)
	}
	return r.cloud.in(o.text("region"))
}

func (r *genericResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.write(ctx, req.Plan.Raw, &resp.State.Raw, &resp.Diagnostics, cloud.add)
}

func (r *genericResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.write(ctx, req.Plan.Raw, &resp.State.Raw, &resp.Diagnostics, cloud.put)
}

func (r *genericResource) write(ctx context.Context, plan tftypes.Value, state *tftypes.Value, diags *diag.Diagnostics, write func(cloud, string, string, object) error) {
	o, err := fromValue(plan)
	if err != nil {
		diags.AddError(r.name, err.Error())
		return
	}
	at := r.place(o)
	if _, has := r.schema.Attributes["region"]; has && o.text("region") == "" {
		o["region"] = at.region
	}
	if err = r.create(at, o); err == nil {
		err = write(at, r.name, o.text("id"), o)
	}
	if err == nil {
		*state, err = toValue(r.schema.Type().TerraformType(ctx), map[string]any(o))
	}
	if err != nil {
		diags.AddError(r.name, err.Error())
	}
}

// Read forgets a resource whose object has gone.
func (r *genericResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	o, err := fromValue(req.State.Raw)
	if err == nil {
		o, err = r.place(o).get(r.name, o.text("id"))
	}
	switch {
	case err != nil:
		resp.Diagnostics.AddError(r.name, err.Error())
	case o == nil:
		resp.State.RemoveResource(ctx)
	default:
		if resp.State.Raw, err = toValue(r.schema.Type().TerraformType(ctx), map[string]any(o)); err != nil {
			resp.Diagnostics.AddError(r.name, err.Error())
		}
	}
}

func (r *genericResource) Delete(_ context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	o, err := fromValue(req.State.Raw)
	if err == nil {
		err = r.place(o).remove(r.name, o.text("id"))
	}
	if err != nil {
		resp.Diagnostics.AddError(r.name, err.Error())
	}
}

// lookup is a type of data source.
type lookup struct {
	schema dataschema.Schema
	read   func(c cloud, o object) error // fills in the object
}

// genericData is a lookup as the framework has it.
type genericData struct {
	name string
	lookup
	cloud cloud
}

func (d *genericData) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = d.name
}

func (d *genericData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = d.schema
}

func (d *genericData) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	if c, ok := req.ProviderData.(cloud); ok {
		d.cloud = c
	}
}

func (d *genericData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	o, err := fromValue(req.Config.Raw)
	if err == nil {
		err = d.read(d.cloud, o)
	}
	if err == nil {
		resp.State.Raw, err = toValue(d.schema.Type().TerraformType(ctx), map[string]any(o))
	}
	if err != nil {
		resp.Diagnostics.AddError(d.name, err.Error())
	}
}
