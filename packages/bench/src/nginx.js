// nginx of the machine as a proxy for comparison. If it is not installed, its figures are left out.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import { join } from 'node:path'
import { freePort, without } from './peers.js'

/** @param {string} folder @param {number} port @param {string} upstream */
const configuration = (folder, port, upstream) => `
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  client_max_body_size 1m;
  client_body_buffer_size 1m;
  keepalive_requests 10000000;
  upstream provider { server ${new URL(upstream).host}; keepalive 64; keepalive_requests 10000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`

/** Returns whether a port accepts connections. A request would reach the upstream. @param {number} port @returns {Promise<boolean>} */
const accepts = (port) =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.end())
  })

/**
 * Starts nginx in front of the upstream. @param {string} upstream @param {number | undefined} pin CPU to use
 * @returns {Promise<{ port: number, stop: () => Promise<void> } | undefined>}
 */
export async function startNginx(upstream, pin) {
  const folder = mkdtempSync(join(os.tmpdir(), 'modelgate-bench-nginx-'))
  try {
    if (process.env.BENCH_PEERS === '0') throw new Error('BENCH_PEERS=0')
    const port = await freePort()
    const file = join(folder, 'nginx.conf')
    writeFileSync(file, configuration(folder, port, upstream))
    const command = ['nginx', '-p', folder, '-c', file]
    const [program = '', ...rest] = pin === undefined ? command : ['taskset', '-c', String(pin), ...command]
    const child = spawn(program, rest, { stdio: 'ignore' })
    /** @type {string | undefined} */
    let failure
    const ended = new Promise((resolve) => {
      /** @param {string} reason */
      const end = (reason) => {
        failure ??= reason
        resolve(undefined)
      }
      child.once('close', (code) => end(`it exited with ${code}`)).once('error', ({ message }) => end(message))
    })
    const stop = async () => {
      child.kill()
      await ended
      rmSync(folder, { recursive: true, force: true })
    }
    for (let tries = 0; tries < 100 && failure === undefined; tries++) {
      if (await accepts(port)) return { port, stop }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const reason = failure ?? 'it did not start within 5 s'
    await stop()
    throw new Error(reason)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    without('nginx', error)
    return undefined
  }
}
