import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { checks } from './checks.ts'
import { install } from './install.ts'
import { type Pin, pins } from './pins.ts'
import { promisesOf } from './report.ts'

/** Runs the command as a user would. */
const command = (...args: string[]) => {
  const program = fileURLToPath(new URL('../../runtimes.js', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
  return { status, output: `${stdout}${stderr}` }
}

let list: ReturnType<typeof command>
beforeAll(() => {
  list = command('--list')
  // The commands of this file share one bundle of the kit.
  vi.stubEnv('MODELGATE_KIT_BUNDLED', '1')
})
afterAll(() => vi.unstubAllEnvs())

describe('the matrix of runtimes', () => {
  test('lists its checks', () => {
    const { status, output } = list
    expect(status).toBe(0)
    expect(output.match(/^\S/gm)).toHaveLength(checks.length)
  })

  test.each([
    [
      ['--only', 'rhino'],
      /Invalid value 'rhino' of --only. Expected one of node20, node22, node24, node26, bun, deno, workerd/,
    ],
    [['--checks', 'speed'], /Invalid value 'speed' of --checks. Expected one of suite, responses, /],
    [['--docs', '--only', 'bun'], /--docs needs the complete matrix/],
  ])('rejects %j with the correct usage', (args, message) => {
    const { status, output } = command(...args)
    expect(status).toBe(2)
    expect(output).toMatch(message)
  })

  test('is documented in docs/operate/runtimes.md for these runtimes with all checks', () => {
    const text = readFileSync(fileURLToPath(new URL('../../../../docs/operate/runtimes.md', import.meta.url)), 'utf8')
    const shown = /<!-- matrix -->\n(.*?)\n<!-- \/matrix -->/s.exec(text)?.[1]?.split('\n') ?? []
    const [head = [], , ...rows] = shown.map((line) => line.split('|').map((cell) => cell.trim()))
    expect(head.slice(3, -1)).toEqual(checks.map(({ name }) => name))
    expect(rows.map(([, title, version]) => `${title} ${version}`)).toEqual(
      pins.map(({ title, version }) => `${title} ${version}`),
    )
    expect(shown.join('\n')).not.toMatch(/\*\*|not run/)
    expect(text).toContain(promisesOf(checks))
  })

  test('reports a runtime that is unavailable, with the reason', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'modelgate-runtimes-'))
    onTestFinished(() => {
      rmSync(folder, { recursive: true })
      vi.unstubAllEnvs()
    })
    vi.stubEnv('npm_config_registry', 'http://127.0.0.1:1/')
    vi.stubEnv('npm_config_fetch_retries', '0')
    vi.stubEnv('npm_config_cache', folder)
    const bun = pins.find(({ name }) => name === 'bun') as Pin
    expect(await install(bun, folder)).toEqual({ absent: expect.stringMatching(/^it could not be installed: ./) })
    expect(await install({ ...bun, place: () => undefined }, folder)).toEqual({
      absent: `npm has no Bun for ${process.platform} on ${process.arch}`,
    })
  })

  test('uses runtimes that npm has for the common platforms', () => {
    for (const { place } of pins)
      for (const machine of ['linux x64', 'linux arm64', 'darwin arm64', 'win32 x64']) {
        const [platform = '', arch = ''] = machine.split(' ')
        expect(place(platform, arch)).toBeDefined()
      }
    expect(pins.map(({ place }) => place('aix', 'ppc64'))).toEqual(pins.map(() => undefined))
  })
})
