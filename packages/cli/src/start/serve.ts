import http from 'node:http'
import { createGateway, type Gateway } from '@modelgate/core'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { drain } from '@modelgate/node/adapter'
import { StorageAwayError } from '@modelgate/tokens'
import { type Flags, readSettings, type Settings } from '../config/settings.ts'
import { codeOf, inFile, problemsOf } from '../errors.ts'
import type { World } from '../world.ts'
import { banner } from './banner.ts'

/** A server that listens. */
export interface Serving {
  readonly port: number
  /** Reads the configuration again, and says what came of it. */
  reload(): Promise<void>
  /** Answers the running calls to their end, and lets go of everything. */
  stop(): Promise<void>
}

/** Starts the server and says where it is. Rejects with an Error whose message is for the user. */
export async function serve(world: World, flags: Flags): Promise<Serving> {
  let settings = await readSettings(world, flags)
  let server: http.Server
  let gateway: Gateway
  try {
    gateway = aboutFile(settings, () => createGateway(settings.gateway))
    server = http.createServer(nodeListener(gateway)).on('upgrade', nodeUpgrade(gateway))
    await listen(server, settings, flags)
  } catch (error) {
    await settings.kept.close()
    throw error
  }
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : settings.port
  world.out(banner(settings, port))
  // Of two at once the slower one must not win.
  let reloads = Promise.resolve()
  const reloadOnce = async (): Promise<void> => {
    try {
      // A file that is gone, or about to be replaced, is no wish for the environment's configuration.
      const next = await readSettings(world, { ...flags, config: flags.config ?? settings.file }, settings.kept)
      aboutFile(next, () => gateway.reconfigure(next.gateway))
      const moved = next.port !== settings.port || next.host !== settings.host
      const notes = [...next.notes, ...(moved ? ['another port or host takes a new start'] : [])]
      settings = next
      world.out(
        ['The configuration was read again and is in force.', ...notes.map((note) => `Note: ${note}.`)].join('\n'),
      )
    } catch (error) {
      for (const problem of problemsOf(error)) world.err(`modelgate: the old configuration stays: ${problem}`)
    }
  }
  return {
    port,
    reload() {
      reloads = reloads.then(reloadOnce)
      return reloads
    },
    async stop() {
      await drain(server, gateway)
      await settings.kept.close()
    },
  }
}

/** What the gateway does not like is in the file, if there is one. */
function aboutFile<T>({ file }: Settings, work: () => T): T {
  try {
    return work()
  } catch (error) {
    // A damaged folder of tokens is named by its own message.
    throw error instanceof StorageAwayError ? error : inFile(file, error)
  }
}

function listen(server: http.Server, { host, port }: Settings, flags: Flags): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(whyNot(error, host, port, flags), { cause: error })))
    server.listen(port, host, resolve)
  })
}

function whyNot(error: Error, host: string, port: number, flags: Flags): string {
  const setting = flags.port === undefined ? 'set PORT to' : 'give --port'
  const hostSetting = flags.host === undefined ? 'HOST' : '--host'
  const code = codeOf(error)
  if (code === 'EADDRINUSE') return `port ${port} on ${host} is in use: stop what uses it, or ${setting} another`
  if (code === 'EACCES') return `port ${port} may not be used by this user: ${setting} one above 1023`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${hostSetting} is '${host}', which is no address of this machine: 127.0.0.1 is this machine only, 0.0.0.0 is everyone`
  return `cannot listen on ${host}:${port}: ${error.message}`
}
