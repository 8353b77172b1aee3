import http from 'node:http'
import { createGateway, type Gateway } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { drain } from '@modelgate/node/adapter'
import { StorageAwayError } from '@modelgate/tokens'
import { healthUrl } from '../config/health.ts'
import type { SharedParts } from '../config/server-resources.ts'
import { type Flags, readSettings, type Settings } from '../config/settings.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { codeOf, inFile, problemsOf } from '../terminal/errors.ts'
import { banner } from './banner.ts'
import { type Serving, timedStop } from './serving.ts'

/** Starts the server and prints its address. Rejects with an Error whose message is meant for the user. */
export async function serve(context: CommandContext, flags: Flags): Promise<Serving> {
  const settings = await readSettings(context, flags)
  if (settings.workers > 1) return (await import('../workers/primary.ts')).servePrimary(context, settings)
  const serving = await serveSettings(context, flags, settings)
  context.out(banner(settings, serving.port, context))
  settings.resources.log.release()
  return { ...serving, stop: (...why) => timedStop(settings, () => serving.stop(...why)) }
}

/** Starts a worker: its primary process prints the address. */
export async function serveShared(context: CommandContext, flags: Flags, shared: SharedParts): Promise<Serving> {
  const settings = await readSettings(context, flags, { shared })
  const serving = await serveSettings(context, flags, settings)
  settings.resources.log.release()
  return serving
}

/** Starts the server of these settings. Its log is held back until `release`. */
async function serveSettings(context: CommandContext, flags: Flags, first: Settings): Promise<Serving> {
  let settings = first
  let server: http.Server
  let gateway: Gateway
  try {
    gateway = withFileName(settings, () => createGateway(settings.gateway))
    const listener = nodeListener(gateway)
    server = http
      .createServer((req, res) => {
        req.url = healthUrl(req.url ?? '/', settings.gateway.basePath ?? '')
        listener(req, res)
      })
      .on('upgrade', nodeUpgrade(gateway))
    // Takes less time than the start itself. A first call then waits for no module.
    await adapterFunctions(gateway).loaded()
    await listen(server, settings, flags)
  } catch (error) {
    await settings.resources.close()
    throw error
  }
  const { log } = settings.resources
  const { logger } = log.plugin
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : settings.port
  // Reloads run one after the other: a slow earlier one must not overwrite a later one.
  let reloads = Promise.resolve(true)
  const reloadOnce = async (): Promise<boolean> => {
    let isActive = false
    try {
      // A deleted file, or one that is being replaced, must not activate the environment's configuration.
      const next = await readSettings(context, { ...flags, config: flags.config ?? settings.file }, settings.resources)
      withFileName(next, () => gateway.reconfigure(next.gateway))
      const moved = next.port !== settings.port || next.host !== settings.host
      const notes = [
        ...next.notes,
        ...(moved ? ['restart the server to listen on another port or host'] : []),
        ...(next.workers === settings.workers ? [] : ['restart the server to change the number of workers']),
      ]
      settings = next
      isActive = true
      // The gateway's notice reports the reload itself.
      for (const note of notes) logger.warn(`Note: ${note}.`)
      log.plugin.configure(next.log)
    } catch (error) {
      const problems = problemsOf(error)
      logger.error(`Reload failed, the current configuration stays active: ${problems.join('; ')}`, {
        event: 'reload-failed',
        problems,
      })
    }
    log.plugin.flush()
    return isActive
  }
  return {
    port,
    reload() {
      reloads = reloads.then(reloadOnce)
      return reloads
    },
    async stop(reason = 'Server stopped', hint = 'press Ctrl-C again') {
      log.shutDown(reason, hint)
      // The server accepts connections until the calls have finished: health probes have to read that it is not ready.
      await gateway.close()
      await drain(server, gateway)
      await settings.resources.close()
    },
  }
}

/** Adds the configuration file's name to errors of the gateway. */
function withFileName<T>({ file }: Settings, work: () => T): T {
  try {
    return work()
  } catch (error) {
    // The message already names the damaged token folder.
    throw error instanceof StorageAwayError ? error : inFile(file, error)
  }
}

function listen(server: http.Server, { host, port }: Settings, flags: Flags): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(listenErrorMessage(error, host, port, flags), { cause: error })))
    server.listen(port, host, resolve)
  })
}

function listenErrorMessage(error: Error, host: string, port: number, flags: Flags): string {
  const setting = flags.port === undefined ? 'set PORT to' : 'set --port to'
  const hostSetting = flags.host === undefined ? 'HOST' : '--host'
  const code = codeOf(error)
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is in use: stop the other process, or ${setting} another port.`
  if (code === 'EACCES') return `This user may not listen on port ${port}: ${setting} a port above 1023.`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${hostSetting} is '${host}', which is not an address of this machine. Use 127.0.0.1 for this machine only, 0.0.0.0 for all interfaces.`
  return `Cannot listen on ${host}:${port}: ${error.message}`
}
