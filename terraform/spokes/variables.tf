variable "name" {
  description = "Name of the member, as in its file; also of the cluster in EKS; by default the workspace's"
  type        = string
  default     = null
  validation {
    condition     = terraform.workspace == "default" ? var.name != null : coalesce(var.name, terraform.workspace) == terraform.workspace
    error_message = "name: expected the name of the workspace, ${terraform.workspace}, or none; in the workspace default, a name."
  }
  validation {
    condition     = can(regex("^[a-z0-9]([-a-z0-9]{0,45}[a-z0-9])?$", coalesce(var.name, terraform.workspace)))
    error_message = "name: expected lower-case letters, digits and inner hyphens, at most 47 characters: roles are named <name>-external-secrets, and IAM takes 64."
  }
}

variable "hub" {
  description = "The hub: its name, its region, and a role in its account that may read its SSM parameters (empty: the same account)"
  type = object({
    name            = string
    region          = string
    reader_role_arn = optional(string, "")
  })
}

variable "region" {
  description = "Region of the cluster"
  type        = string
}

variable "vpc_cidr" {
  description = "Addresses of the cluster's network"
  type        = string
}

variable "kubernetes_version" {
  description = "Version of the control plane"
  type        = string
  default     = "1.36"
}

variable "addons" {
  description = "Facts that become labels of the cluster Secret"
  type        = map(string)
  default     = {}
}

variable "metadata" {
  description = "Facts that become its annotations"
  type        = map(string)
  default     = {}
}

variable "connection" {
  description = "How Argo CD connects, where not by the cluster's role: bearer_token, or cert_data and key_data, and more, as the module member-record has it"
  type = object({
    bearer_token = optional(string)
    ca_data      = optional(string)
    cert_data    = optional(string)
    key_data     = optional(string)
    server_name  = optional(string)
    proxy_url    = optional(string)
    insecure     = optional(bool, false)
  })
  default   = {}
  sensitive = true
}

variable "agent" {
  description = "Make the roles of the member's own Argo CD and External Secrets; false for a member that only the hub deploys to"
  type        = bool
  default     = true
}

variable "secret_arns" {
  description = "Secrets that the member's own External Secrets may read; by default the repository credentials github/* of its account and region"
  type        = list(string)
  default     = null
}

variable "identities" {
  description = "More components that act in AWS and whose role Terraform makes, by name. Those whose role the fleet makes (charts/aws-identity with ACK) are not among them"
  type = map(object({
    namespace        = string
    service_accounts = list(string)
    policy           = optional(string)
    policy_arns      = optional(list(string), [])
  }))
  default = {}
}
