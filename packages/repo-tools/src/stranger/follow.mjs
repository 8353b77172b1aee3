// Follows a page as a reader does: writes its files, runs its commands in one terminal, keeps servers running in another, and
// stops at the first failure.
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { curlSettings, pagePort } from '../documentation/curl-settings.mjs'
import { blocksFor, blocksIn } from '../documentation/pages.mjs'
import { fakeProvidersEnv } from '../packed/fake-providers.mjs'
import { userEnvironment } from '../packed/project.mjs'

/** Programs that following pages requires and this machine lacks. */
export const lacks = ['bash', 'curl'].filter((program) => spawnSync(program, ['--version']).error !== undefined)

/** Timeout of a block, so that a hanging one is reported. */
const patienceMs = 150_000

/** Matches a command that starts a server. */
const serving =
  /^(?:[A-Z_]+=\S+ +)*(?:node (?:--\S+ +)*(?:\S*server\S*|--watch \S+)|npx next dev .*|npx modelgate(?: +(?:start|--(?!help|version)\S+(?: +[^-\s]\S*)?))*)(?: *#.*)?$/

/** Removes lines that are only a comment. @param {string} code */
const withoutComments = (code) => code.replaceAll(/^#.*\n/gm, '').trim()

/** Labels under which pages print the response to each SDK. */
const formats = ['chat completions', 'responses', 'messages', 'generateContent']

/**
 * @typedef {{ page: string, answers: { format: string, text: string }[], steps: number }} Followed
 * @typedef {{ env: Record<string, string>, home: number, host?: string | undefined }} Surroundings `env`: environment of a packedRegistry(); `home`:
 * port of the fake provider that replaces all providers; `host`: the reader's host, which selects a tab of each code group
 */

/**
 * Follows a page. Rejects with an error that contains the block and its output.
 * @param {string} page @param {string} text @param {Surroundings} surroundings @returns {Promise<Followed>}
 */
export async function follow(page, text, { env, home, host }) {
  const blocks = blocksFor(blocksIn(text, page), host)
  const folder = realpathSync(mkdtempSync(join(emptyPlace(), 'modelgate-stranger-')))
  const settings = realpathSync(mkdtempSync(join(tmpdir(), 'modelgate-stranger-settings-')))
  const port = await freePort()
  // Pages use port 8787. Several pages run in parallel, and another process may use the port, so it is mapped.
  const own = userEnvironment({
    ...env,
    ...fakeProvidersEnv(home, { [pagePort]: port }),
    CURL_HOME: settings,
    // Answers prompts with yes.
    npm_config_yes: 'true',
    npm_config_prefer_offline: 'true',
    ...ownCache(env, settings),
  })
  writeFileSync(join(settings, '.curlrc'), curlSettings(port))
  const terminal = openTerminal(folder, settings, withoutKeys(own))
  /** @type {Server | undefined} */
  let server
  let output = ''
  let steps = 0
  try {
    for (const block of blocks) {
      const { language, file, text: code, place, mark } = block
      if (mark !== undefined) continue
      if (file === undefined && language !== 'sh') continue
      steps++
      try {
        if (file !== undefined) {
          mkdirSync(dirname(join(folder, file)), { recursive: true })
          writeFileSync(join(folder, file), code)
        } else if (serving.test(withoutComments(code))) {
          await server?.stop()
          server = await serve(code, folder, withoutKeys(own), port)
        } else output += await terminal.paste(code)
      } catch (error) {
        const serverOutput = server === undefined ? '' : `\nThe server of the page printed:\n${server.output()}`
        throw new Error(`${place}: ${error instanceof Error ? error.message : error}${serverOutput}`)
      }
    }
    await server?.stop()
    server = undefined
  } finally {
    terminal.close()
    server?.kill()
    for (const gone of [folder, settings]) rmSync(gone, { recursive: true, force: true, maxRetries: 5 })
  }
  return { page, answers: answersIn(output), steps }
}

/** Returns the formats whose SDK got an empty response or was not called. @param {Followed['answers']} answers */
export const unanswered = (answers) =>
  formats.filter((format) => {
    const texts = answers.filter((one) => one.format === format).map(({ text }) => text)
    return texts.length === 0 || texts.some((text) => !/\w/.test(text) || text === 'undefined')
  })

/** Returns a parent for new folders without a package.json above it, which npm would take for the reader's project. */
function emptyPlace() {
  /** @param {string} folder @returns {boolean} */
  const isInProject = (folder) =>
    ['package.json', 'node_modules'].some((name) => existsSync(join(folder, name))) ||
    (dirname(folder) !== folder && isInProject(dirname(folder)))
  const found = [tmpdir(), '/var/tmp', homedir()].find(
    (folder) => existsSync(folder) && !isInProject(realpathSync(folder)),
  )
  if (found === undefined)
    throw new Error(`there is a package.json or node_modules above ${tmpdir()}: set TMPDIR to a folder without`)
  return found
}

/**
 * Keeps npm's download cache, but not npx installations: the same version of our packages has other contents after the next build.
 * @param {Record<string, string>} env @param {string} settings
 */
function ownCache({ npm_config_cache: shared }, settings) {
  if (shared === undefined) return {}
  const cache = join(settings, 'npm')
  mkdirSync(join(shared, '_cacache'), { recursive: true })
  mkdirSync(cache)
  symlinkSync(join(shared, '_cacache'), join(cache, '_cacache'), 'junction')
  return { npm_config_cache: cache }
}

/** @param {string} output */
function answersIn(output) {
  const lines = output.matchAll(new RegExp(`^(${formats.join('|')}): (.*)$`, 'gm'))
  return [...lines].map(([, format = '', text = '']) => ({ format, text }))
}

/** Removes provider keys and addresses of the current user from the environment. @param {NodeJS.ProcessEnv} env */
const withoutKeys = (env) =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/_API_KEY$|_BASE_URL$|^(MODELGATE_(?!FAKE_PROVIDERS)|GATEWAY_|PORT$|HOST$)/.test(name),
    ),
  )

/** @returns {Promise<number>} */
const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = net.createServer()
    probe.once('error', reject)
    probe.listen(0, () => {
      const { port } = /** @type {net.AddressInfo} */ (probe.address())
      probe.close(() => resolve(port))
    })
  })

/**
 * Starts a shell that is kept from block to block, like a reader's.
 * @param {string} folder @param {string} settings @param {NodeJS.ProcessEnv} env
 */
function openTerminal(folder, settings, env) {
  const shell = spawn('bash', ['--noprofile', '--norc'], { cwd: folder, env, detached: true, stdio: 'pipe' })
  const done = `the block is done ${randomUUID()}`
  let printed = ''
  let ended = false
  let wake = () => {}
  const hear = (/** @type {Buffer | undefined} */ chunk) => {
    printed += chunk ?? ''
    wake()
  }
  shell.stdout.on('data', hear)
  shell.stderr.on('data', hear)
  shell.once('close', () => {
    ended = true
    wake()
  })
  let count = 0
  return {
    /** Resolves with the output once the block has run; rejects if a command fails. @param {string} text */
    async paste(text) {
      const script = join(settings, `block-${count++}.sh`)
      writeFileSync(script, `set -euo pipefail\n${text}`)
      printed = ''
      // Programs must not read the next block from standard input. A failing command ends the shell.
      shell.stdin.write(`source ${script} </dev/null 2>&1; echo; echo "${done}"\n`)
      let timedOut = false
      const patience = setTimeout(() => {
        timedOut = true
        wake()
      }, patienceMs)
      while (!printed.includes(done) && !ended && !timedOut) {
        await new Promise((resolve) => {
          wake = () => resolve(undefined)
        })
      }
      clearTimeout(patience)
      if (timedOut) throw new Error(`this does not come to an end:\n${text}It printed:\n${printed.trim()}`)
      if (ended) throw new Error(`this failed:\n${text}It printed:\n${printed.trim()}`)
      return printed.slice(0, printed.indexOf(done))
    },
    close: () => killGroup(shell.pid, 'SIGKILL'),
  }
}

/** @param {number | undefined} pid @param {NodeJS.Signals} signal */
function killGroup(pid, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}

/** @typedef {{ output(): string, stop(): Promise<void>, kill(): void }} Server */

/**
 * Starts a server in a second terminal and waits until it listens.
 * @param {string} command @param {string} folder @param {NodeJS.ProcessEnv} env @param {number} port @returns {Promise<Server>}
 */
async function serve(command, folder, env, port) {
  const child = spawn('bash', ['-c', command], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  const hear = (/** @type {Buffer} */ chunk) => {
    printed += chunk
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  let over = false
  const ended = new Promise((resolve) => {
    child.once('close', () => {
      over = true
      resolve(undefined)
    })
  })
  const began = performance.now()
  while (!(await accepts(port))) {
    if (performance.now() - began > patienceMs) {
      killGroup(child.pid, 'SIGKILL')
      throw new Error(`this does not listen on port ${pagePort}:\n${command}It printed:\n${printed.trim()}`)
    }
    if (over) throw new Error(`this ended before it served:\n${command}It printed:\n${printed.trim()}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    output: () => printed,
    kill: () => killGroup(child.pid, 'SIGKILL'),
    // Like Ctrl-C: signals the whole process group.
    async stop() {
      killGroup(child.pid, 'SIGINT')
      const patience = new Promise((_resolve, reject) => {
        setTimeout(() => reject(new Error(`this goes on after Ctrl-C:\n${command}`)), 30_000).unref()
      })
      await Promise.race([ended, patience])
    },
  }
}

/** @param {number} port @returns {Promise<boolean>} */
const accepts = (port) =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
