import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const node = fileURLToPath(new URL('../../../node', import.meta.url))

/** Runs a program with the built packages, and returns what it prints as JSON. */
const run = (program: string): unknown =>
  JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: node, encoding: 'utf8' }))

describe('a Node server that no client has called', () => {
  it('compiles the HTTP parser of undici once, opens no connection and keeps no process alive', () => {
    const program = `
      import net from 'node:net'
      import { createGateway, openai } from '@modelgate/core'
      import { nodeListener } from '@modelgate/node'
      const counts = { compiled: 0, connected: 0 }
      const { Module } = WebAssembly
      WebAssembly.Module = class extends Module { constructor(bytes) { super(bytes); counts.compiled++ } }
      net.Socket.prototype.connect = () => { counts.connected++ }
      const gateway = () =>
        createGateway({ auth: 'none', upstreams: { openai: openai({ apiKey: 'k' }) }, models: { m: 'openai' } })
      nodeListener(gateway())
      nodeListener(gateway())
      process.on('exit', () => console.log(JSON.stringify(counts)))`
    expect(run(program)).toEqual({ compiled: 1, connected: 0 })
  })

  it('has not loaded the package for WebSockets', () => {
    const program = `
      import { createRequire } from 'node:module'
      import { createGateway, openai } from '@modelgate/core'
      import { adapterFunctions } from '@modelgate/core/adapter'
      import { nodeListener, nodeUpgrade } from '@modelgate/node'
      const gateway = createGateway({ auth: 'none', upstreams: { openai: openai({ apiKey: 'k' }) }, models: { m: 'openai' } })
      nodeListener(gateway)
      nodeUpgrade(gateway)
      await adapterFunctions(gateway).loaded()
      const files = Object.keys(createRequire(import.meta.url).cache)
      const loaded = (name) => files.some((file) => file.includes('/node_modules/' + name + '/'))
      console.log(JSON.stringify({ undici: loaded('undici'), ws: loaded('ws') }))`
    expect(run(program)).toEqual({ undici: true, ws: false })
  })
})
