#!/usr/bin/env node
// Not built, so that a workspace can link it before anything is.
import './dist/bin.js'
