#!/usr/bin/env node
import { command } from '../dist/index.js'

process.exitCode = await command(process.argv.slice(2))
