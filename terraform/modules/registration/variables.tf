variable "name" {
  description = "Name of the member, as in its file"
  type        = string
}

variable "hub" {
  description = "The hub: its name, and the region of its secret store"
  type        = object({ name = string, region = string })
}

variable "account_id" {
  description = "Account of the cluster"
  type        = string
}

variable "region" {
  description = "Region of the cluster"
  type        = string
}

variable "cluster" {
  description = "The cluster: the outputs of the module cluster"
  type = object({
    name        = string
    endpoint    = string
    ca_data     = string
    oidc_issuer = string
    vpc_id      = string
  })
}

variable "kubernetes_version" {
  description = "Version of the control plane"
  type        = string
}

variable "argocd_role_arns" {
  description = "Roles of the Argo CDs that may assume the cluster's role: the hub's, and the member's own"
  type        = list(string)
}

variable "external_secrets_role_arn" {
  description = "Role of the hub's External Secrets, which may read the record"
  type        = string
}

variable "role_arns" {
  description = "Roles of the cluster's components, by name"
  type        = map(string)
}

variable "connection" {
  description = "How Argo CD connects, where not by the cluster's role: as the module member-record has it"
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
