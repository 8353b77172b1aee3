#!/usr/bin/env node
// Headers that the SDKs would take from the environment are meant for another server: here they are options.
for (const name of ['OPENAI_CUSTOM_HEADERS', 'ANTHROPIC_CUSTOM_HEADERS']) delete process.env[name]

const { command } = await import('../dist/index.js')
process.exitCode = await command(process.argv.slice(2))
