import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { root, workspaceDirs } from '../base/workspace.mjs'

/** Reads a configuration with its base. Paths are relative to the root, with `/`. */
function readConfig(file: string) {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, file),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'))
      },
    },
  )
  if (config === undefined) throw new Error(`${file} could not be read`)
  const { options, fileNames } = config
  return { options, files: fileNames.map((name) => relative(root, name).replaceAll('\\', '/')) }
}

const base = readConfig('tsconfig.base.json')
const folders = [...workspaceDirs(['packages']), 'examples']

describe.each(folders)('tsconfig.json of %s', (folder) => {
  it('gives editors the options and files of tsconfig.base.json', () => {
    expect(existsSync(join(root, folder, 'tsconfig.json')), `${folder}/tsconfig.json extends the base`).toBe(true)
    const { options, files } = readConfig(`${folder}/tsconfig.json`)
    const withoutPath = ({ configFilePath: _path, ...others }: ts.CompilerOptions) => others
    expect(withoutPath(options)).toEqual(withoutPath(base.options))
    const ownFiles = (all: readonly string[]) => all.filter((file) => file.startsWith(`${folder}/`)).sort()
    expect(ownFiles(files)).toEqual(ownFiles(base.files))
  })
})

it('no file of tsconfig.base.json is outside of the folders with a tsconfig.json, except root configuration', () => {
  const outside = base.files.filter((file) => !folders.some((folder) => file.startsWith(`${folder}/`)))
  expect(outside.sort()).toEqual(['.tsup.config.ts', 'vitest.workspace.ts'])
})
