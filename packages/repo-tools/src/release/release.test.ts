import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readJson, root, workspaceDirs } from '../base/workspace.mjs'
import { packAll } from '../packed/pack.mjs'
import { newProject } from '../packed/project.mjs'
import { sectionOf, withSection } from './changelog.mjs'
import { identified } from './identify.mjs'
import { pendingChanges, version, withRanges } from './version.mjs'

const manifests = workspaceDirs(['packages']).map((dir) => readJson(`${dir}/package.json`))
const names: string[] = manifests.filter((one) => one.private !== true).map((one) => one.name)

const copies: string[] = []
afterAll(() => {
  for (const folder of copies) rmSync(folder, { recursive: true })
})

/** Copies the files that Changesets reads into a temporary folder. */
function copyOfManifests(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'modelgate-release-')))
  copies.push(folder)
  const files = ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'CHANGELOG.md', '.changeset']
  for (const path of [...files, ...workspaceDirs().map((dir) => `${dir}/package.json`)])
    cpSync(join(root, path), join(folder, path), { recursive: true })
  return folder
}

describe('a release', () => {
  it('covers all packages in one version, with its changes in the changelog', async () => {
    const folder = copyOfManifests()
    for (const file of readdirSync(join(folder, '.changeset')))
      if (file.endsWith('.md') && file !== 'README.md') rmSync(join(folder, '.changeset', file))
    expect(await version(folder)).toBeUndefined()
    const change = (name: string, step: string, text: string) =>
      writeFileSync(join(folder, `.changeset/${name}.md`), `---\n"@modelgate/core": ${step}\n---\n\n${text}\n`)
    change('a', 'patch', 'A hole is closed.\nIt was small.')
    change('b', 'minor', '**breaking**: something is called something else.')

    const [major = 0, minor = 0] = manifests
      .find(({ name }) => name === '@modelgate/core')
      .version.split('.')
      .map(Number)
    const next = `${major}.${minor + 1}.0`
    expect(await version(folder)).toBe(next)
    for (const dir of workspaceDirs(['packages'])) {
      const { name, version: own } = JSON.parse(readFileSync(join(folder, dir, 'package.json'), 'utf8'))
      expect([name, own]).toEqual([name, names.includes(name) ? next : readJson(`${dir}/package.json`).version])
      expect(existsSync(join(folder, dir, 'CHANGELOG.md'))).toBe(readdirSync(join(root, dir)).includes('CHANGELOG.md'))
    }
    const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
    expect(sectionOf(changelog, next)).toBe(
      '- A hole is closed.\n  It was small.\n- **breaking**: something is called something else.',
    )
    expect(pendingChanges(folder)).toEqual([])
  })

  it('names existing packages', () => {
    for (const { file, packages } of pendingChanges(root)) {
      expect([file, packages.filter((name) => !names.includes(name))]).toEqual([file, []])
      expect([file, packages.length]).not.toEqual([file, 0])
    }
  })

  it('updates the version ranges in examples', () => {
    const manifest = '{ "dependencies": { "@modelgate/core": "^0.1.0", "modelgate": "^0.1.0", "hono": "^4.0.0" } }'
    const ours = ['@modelgate/core', 'modelgate']
    expect(withRanges(manifest, ours, '0.2.0')).toBe(manifest.replaceAll('^0.1.0', '^0.2.0'))
  })

  it('is added to CHANGELOG.md above older versions', () => {
    expect(withSection('# Changelog\n\nWords.\n\n## 0.1.0\n\n- First.\n', '0.2.0', ['Second.'])).toBe(
      '# Changelog\n\nWords.\n\n## 0.2.0\n\n- Second.\n\n## 0.1.0\n\n- First.\n',
    )
    const { version: now } = manifests.find(({ name }) => name === '@modelgate/core')
    expect(sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), now)).toBeTruthy()
  })

  it('writes the repository into manifests', () => {
    expect(identified({ name: 'a' }, 'https://github.com/owner/name', 'packages/a')).toMatchObject({
      repository: { type: 'git', url: 'git+https://github.com/owner/name.git', directory: 'packages/a' },
    })
  })

  it('publishes tarballs with dependencies first, and resumes after a failure', async () => {
    const packages = await packAll()
    const place = new Map(packages.map(({ name }, i) => [name, i]))
    for (const { name, manifest } of packages)
      for (const other of Object.keys(Object(manifest.dependencies)))
        expect(place.get(other) ?? -1).toBeLessThan(place.get(name) ?? -1)

    // A sample: each package takes seconds.
    const [first = '', ...rest] = ['@modelgate/core', '@modelgate/node', '@modelgate/express']
    const core = packages.find(({ name }) => name === first)
    const used: string[] = []
    const registry = http.createServer((request, response) => {
      const name = decodeURIComponent(request.url?.slice(1) ?? '')
      if (request.method === 'PUT') used.push(name)
      request.resume().on('end', () => {
        const known = request.method === 'GET' && name === first && core
        const packument = known && {
          name,
          'dist-tags': { latest: known.version },
          versions: { [known.version]: known.manifest },
        }
        response.writeHead(request.method === 'PUT' || known ? 200 : 404, { 'content-type': 'application/json' })
        response.end(JSON.stringify(packument || {}))
      })
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
    const host = `127.0.0.1:${(registry.address() as AddressInfo).port}`
    const env = {
      npm_config_registry: `http://${host}/`,
      [`npm_config_//${host}/:_authToken`]: 'token',
      MODELGATE_BUILT: '1',
    }
    const project = newProject('publish', {}, { env })
    const folder = mkdtempSync(join(tmpdir(), 'modelgate-tarballs-'))
    copies.push(folder)
    await project.run('node', [join(root, 'packages/repo-tools/src/release/tarballs.mjs'), folder])
    const output = await project.run('node', [
      join(root, 'packages/repo-tools/src/release/publish.mjs'),
      folder,
      ...rest,
      first,
    ])
    expect(used).toEqual(rest)
    expect(output).toContain(`${first}@${core?.version} is already published`)
    project.remove()
    registry.close()
  }, 120_000)
})

describe.each(readdirSync(join(root, '.github/workflows')))('the workflow %s', (file) => {
  interface Step {
    uses?: string
    run?: string
    with?: Record<string, unknown>
  }
  interface Job {
    permissions?: Record<string, string>
    'timeout-minutes'?: number
    steps: Step[]
  }
  const text = readFileSync(join(root, '.github/workflows', file), 'utf8')
  const workflow = parse(text) as { permissions: Record<string, string>; jobs: Record<string, Job> }
  const jobs = Object.entries(workflow.jobs)

  it('runs only actions pinned by hash, with their version', () => {
    const uses = [...text.matchAll(/uses: (.*)$/gm)].map(([, action = '']) => action)
    expect(uses.filter((action) => !/^actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([])
  })

  it('has minimal permissions', () => {
    expect(Object.values(workflow.permissions ?? { all: 'write' })).not.toContain('write')
    const may = jobs.flatMap(([name, { permissions = {} }]) =>
      Object.entries(permissions).flatMap(([what, how]) => (how === 'write' ? [`${name}: ${what}`] : [])),
    )
    expect(may).toEqual(file === 'release.yml' ? ['publish: id-token', 'announce: contents'] : [])
    for (const { uses = '', with: options } of jobs.flatMap(([, { steps }]) => steps))
      if (uses.startsWith('actions/checkout@')) expect(options).toMatchObject({ 'persist-credentials': false })
    for (const [, job] of jobs) expect(job['timeout-minutes']).toBeLessThanOrEqual(60)
  })

  it('installs and builds nothing in a job that may publish', () => {
    for (const [, { permissions = {}, steps }] of jobs) {
      if (permissions['id-token'] !== 'write') continue
      const lines = steps.flatMap(({ run = '' }) => run.split('\n'))
      expect(
        lines.filter((line) => /\b(npm (ci|install|i|run (?!release:publish))|npx|pnpm|\.ci\/run)\b/.test(line)),
      ).toEqual([])
    }
    const script = readFileSync(join(root, 'packages/repo-tools/src/release/publish.mjs'), 'utf8')
    const imported = [...script.matchAll(/from '([^']+)'/g)].map(([, from = '']) => from)
    expect(imported.filter((from) => !from.startsWith('node:'))).toEqual([])
  })

  it('runs existing scripts and files', () => {
    const { scripts } = readJson('package.json')
    const commands = jobs.flatMap(([, { steps }]) => steps.flatMap(({ run = '' }) => run.split('\n')))
    const called = commands.flatMap((line) =>
      [...line.matchAll(/npm (?:run )?(test|[\w:-]+)/g)].map(([, name = '']) => name),
    )
    expect(called.filter((name) => !(name in scripts) && name !== 'config')).toEqual([])
    const files = commands.flatMap((line) => [...line.matchAll(/(?:\.ci|packages)\/[\w./-]+/g)].map(([path]) => path))
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
    expect(called.length + files.length).toBeGreaterThan(0)
  })
})
