# Provider configuration shoal.my_config stands for ClusterProviderConfig my.config.

resource "reef_berth" "r" {
  name = "r"
  labels = [{
    key   = "k"
    value = "v"
  }]
  owners = [{
    name = "o"
  }]
  password = var.reef_berth_r_password
  ports = {
    "http/1" = {
      number = 80
    }
  }
}

import {
  to = reef_berth.r
  id = "r"
}

variable "reef_berth_r_password" {
  description = "Key k of Secret default/s"
  type        = string
  sensitive   = true
}

resource "shoal_anchor" "a" {
  berth_id = "literal"
}

import {
  to = shoal_anchor.a
  id = "a"
}

resource "shoal_berth" "_1st_berth" {
  name = "no name"
}

import {
  to = shoal_berth._1st_berth
  id = "b"
}

resource "shoal_berth" "shop_1st_berth" {
  provider = shoal.my_config
  name     = "quote \" backslash \\ $${var.x} %%{if} $$${x}\nnext line"
  password = var.shoal_berth_shop_1st_berth_password
  size     = 2
  tags = {
    initial        = "i"
    "my key/$${x}" = "%%{y}"
    plain          = "v"
  }
  lifecycle {
    ignore_changes = [size, tags["initial"]]
  }
}

import {
  to = shoal_berth.shop_1st_berth
  id = "a\"$${b}"
}

variable "shoal_berth_shop_1st_berth_password" {
  description = "Key k of Secret shop/s"
  type        = string
  sensitive   = true
}

resource "shoal_chart" "c" {
  title     = shoal_berth.shop_1st_berth.ready_at
  languages = ["en", shoal_berth.shop_1st_berth.id]
  layer {
    name = shoal_berth.shop_1st_berth.id
    point {
      x = 1
      y = 2
    }
    token = var.shoal_chart_c_layer_0_token
  }
}

import {
  to = shoal_chart.c
  id = "c"
}

variable "shoal_chart_c_layer_0_token" {
  description = "Key k of Secret shop/s"
  type        = string
  sensitive   = true
}
