#!/usr/bin/env node
// The SDKs read extra headers from these environment variables. They are meant for another server; use `--header`
// instead.
for (const name of ['OPENAI_CUSTOM_HEADERS', 'ANTHROPIC_CUSTOM_HEADERS']) delete process.env[name]

const { command } = await import('../dist/index.js')
process.exitCode = await command(process.argv.slice(2))
