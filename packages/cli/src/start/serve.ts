import http from 'node:http'
import { createGateway, type Gateway } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { drain } from '@modelgate/node/adapter'
import { StorageAwayError } from '@modelgate/tokens'
import { healthUrl } from '../config/health.ts'
import { type Flags, readSettings, type Settings } from '../config/settings.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { codeOf, inFile, problemsOf } from '../terminal/errors.ts'
import { banner } from './banner.ts'

/** A running server. */
export interface Serving {
  readonly port: number
  /** Reloads the configuration and prints the result. */
  reload(): Promise<void>
  /**
   * Completes in-flight calls and closes all resources.
   *
   * @param reason reason for the log, such as the signal
   * @param hint how to force quit
   */
  stop(reason?: string, hint?: string): Promise<void>
}

/** Starts the server and prints its address. Rejects with an Error whose message is meant for the user. */
export async function serve(context: CommandContext, flags: Flags): Promise<Serving> {
  let settings = await readSettings(context, flags)
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
  context.out(banner(settings, port, context))
  log.release()
  // Reloads run one after the other: a slow earlier one must not overwrite a later one.
  let reloads = Promise.resolve()
  const reloadOnce = async (): Promise<void> => {
    try {
      // A deleted file, or one that is being replaced, must not activate the environment's configuration.
      const next = await readSettings(context, { ...flags, config: flags.config ?? settings.file }, settings.resources)
      withFileName(next, () => gateway.reconfigure(next.gateway))
      const moved = next.port !== settings.port || next.host !== settings.host
      const notes = [...next.notes, ...(moved ? ['restart the server to listen on another port or host'] : [])]
      settings = next
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
  }
  return {
    port,
    reload() {
      reloads = reloads.then(reloadOnce)
      return reloads
    },
    async stop(reason = 'Server stopped', hint = 'press Ctrl-C again') {
      const startedAt = performance.now()
      log.shutDown(reason, hint)
      // The server accepts connections until the calls have finished: health probes have to read that it is not ready.
      await gateway.close()
      await drain(server, gateway)
      await settings.resources.close()
      logger.info(`Server stopped after ${Math.round(performance.now() - startedAt)} ms`, { event: 'stopped' })
      log.plugin.flush()
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
