// Starts a gateway for each server line of nginx.conf, and nginx in front of them. In production systemd, PM2 or Kubernetes does this.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @param {string} name */
const inThisFolder = (name) => fileURLToPath(new URL(name, import.meta.url))
const configuration = resolve(process.env.NGINX_CONF ?? inThisFolder('nginx.conf'))
const text = readFileSync(configuration, 'utf8')
const ports = [...text.matchAll(/^\s*server 127\.0\.0\.1:(\d+)/gm)].map(([, port]) => port)
const [, address] = /^\s*listen ([^\s;]+)/m.exec(text) ?? []

let ending = false
/** @type {Map<string, import('node:child_process').ChildProcess>} */
const children = new Map()

/** @param {string} name @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
function run(name, command, args, env = {}) {
  const since = Date.now()
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  children.set(name, child)
  child.on('error', (error) => console.error(`${name}: ${error.message}`))
  child.on('close', (code, signal) => {
    children.delete(name)
    if (ending) return
    console.error(`${name} ended (${signal ?? code})`)
    if (Date.now() - since > 1000) run(name, command, args, env)
    else {
      // It would fail again: its output has the reason.
      process.exitCode = 1
      end()
    }
  })
}

function end() {
  ending = true
  // nginx completes in-flight calls first.
  for (const child of children.values()) child.kill(child.spawnfile === 'nginx' ? 'SIGQUIT' : 'SIGTERM')
}

for (const port of ports) run(`gateway on port ${port}`, process.execPath, [inThisFolder('gateway.js')], { PORT: port })
// Folder of its logs and its pid file.
const folder = mkdtempSync(join(tmpdir(), 'modelgate-nginx-'))
run('nginx', 'nginx', ['-p', folder, '-c', configuration, '-g', 'daemon off;'])
console.log(`http://${address}/v1 in front of ${ports.length} gateways; logs in ${folder}`)

for (const name of /** @type {const} */ (['SIGTERM', 'SIGINT'])) process.once(name, end)
