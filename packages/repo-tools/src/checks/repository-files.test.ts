import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { filesBelow, readJson, root } from '../base/workspace.mjs'

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Entries of the top level except files whose names begin with a dot. */
const topLevel = new Set([
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'docs',
  'examples',
  'package.json',
  'packages',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  'tsconfig.base.json',
  'vitest.workspace.ts',
])

it('the top level of the repository holds no other files', () => {
  const ignored = new Set(
    read('.gitignore')
      .split('\n')
      .map((line) => line.replace(/\/$/, '')),
  )
  const found = readdirSync(root).filter((name) => !name.startsWith('.') && !ignored.has(name))
  expect(found.filter((name) => !topLevel.has(name) && !/\.(?:log|tgz)$/.test(name))).toEqual([])
})

it('.ci holds its entry script only', () => {
  expect(readdirSync(join(root, '.ci'))).toEqual(['run'])
})

it('.nvmrc names the lowest Node of `engines`', () => {
  expect(`>=${read('.nvmrc').trim()}`).toBe(readJson('package.json').engines.node)
})

describe('the issue forms', () => {
  const folder = '.github/ISSUE_TEMPLATE'
  it.each(readdirSync(join(root, folder)).filter((file) => file !== 'config.yml'))(
    '%s has a name and labelled fields',
    (file) => {
      const form = parse(read(`${folder}/${file}`))
      expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) })
      const fields = form.body.filter(({ type }: { type: string }) => type !== 'markdown')
      for (const field of fields)
        expect(field).toMatchObject({ id: expect.any(String), attributes: { label: expect.any(String) } })
      expect(new Set(fields.map(({ id }: { id: string }) => id)).size).toBe(fields.length)
    },
  )
})

it('dependabot updates npm packages and actions', () => {
  const { updates } = parse(read('.github/dependabot.yml'))
  expect(updates.map((update: Record<string, unknown>) => update['package-ecosystem'])).toEqual([
    'npm',
    'github-actions',
  ])
})

describe('the debug configurations', () => {
  it('starts existing programs', () => {
    const { configurations } = readJson('.vscode/launch.json')
    for (const { program } of configurations) expect(read(program.replace(/^[^/]+\//, ''))).not.toBe('')
  })
})

describe('the README of repo-tools', () => {
  const text = read('packages/repo-tools/README.md')
  const sources = filesBelow('packages/repo-tools/src').map((file) => file.slice('packages/repo-tools/src/'.length))

  it('names each folder of src and existing scripts', () => {
    const folders = new Set(sources.map((file) => file.split('/')[0]))
    expect([...folders].filter((folder) => !text.includes(`\`${folder}\``))).toEqual([])
    const scripts = [...text.matchAll(/^\| `([\w/.-]+)[ `]/gm)].map(([, script = '']) => script)
    expect(scripts.filter((script) => !sources.includes(script))).toEqual([])
  })

  it('lists the script of each command in package.json', () => {
    const scripts: Record<string, string> = readJson('package.json').scripts
    const files = Object.values(scripts).flatMap(
      (command) => command.match(/(?<=repo-tools\/src\/)[\w/.-]+\.mjs/g) ?? [],
    )
    expect([...new Set(files)].filter((file) => !text.includes(`\`${file}`))).toEqual([])
  })
})
