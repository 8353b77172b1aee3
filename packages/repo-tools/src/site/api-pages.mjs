// Writes docs/reference/api/<folder>.md for each public package with TypeDoc. The pages are not in git; their README.md is.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readJson, root, workspaceDirs } from '../base/workspace.mjs'

const apiFolder = join(root, 'docs/reference/api')

/** The public packages that have a page. */
export const apiPackages = workspaceDirs(['packages'])
  .map((dir) => ({ dir, folder: dir.slice('packages/'.length), manifest: readJson(`${dir}/package.json`) }))
  .filter(({ manifest }) => manifest.private !== true)
  .map(({ dir, folder, manifest: { name, description } }) => ({ dir, folder, name, description }))
  // A name that several packages export is documented by the first.
  .sort((a, b) => Number(b.folder === 'core') - Number(a.folder === 'core'))

/** Writes the pages. @param {string} installed `node_modules` folder of the site */
export async function writeApiPages(installed) {
  const { Application } = await import(pathToFileURL(join(installed, 'typedoc/dist/index.js')).href)
  const output = mkdtempSync(join(installed, '.typedoc-'))
  try {
    const app = await Application.bootstrapWithPlugins({
      plugin: [join(installed, 'typedoc-plugin-markdown/dist/index.js')],
      entryPoints: apiPackages.map(({ dir }) => join(root, dir, 'src/index.ts')),
      tsconfig: join(root, 'tsconfig.base.json'),
      // `npm run types` checks types.
      skipErrorChecking: true,
      readme: 'none',
      excludeInternal: true,
      sort: ['source-order'],
      groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables', '*'],
      logLevel: 'Warn',
      validation: false,
      outputs: [{ name: 'markdown', path: output }],
      outputFileStrategy: 'modules',
      hidePageHeader: true,
      hideBreadcrumbs: true,
      useCodeBlocks: true,
      parametersFormat: 'table',
      interfacePropertiesFormat: 'table',
      classPropertiesFormat: 'table',
      typeAliasPropertiesFormat: 'table',
      propertyMembersFormat: 'table',
      typeDeclarationFormat: 'table',
      tableColumnSettings: {
        hideDefaults: true,
        hideInherited: true,
        hideModifiers: true,
        hideOverrides: true,
        hideSources: true,
      },
      disableGit: true,
      sourceLinkTemplate: '#',
    })
    const project = await app.convert()
    if (project === undefined) throw new Error('TypeDoc could not read the packages.')
    // A module is named after its file's path, and gives its page the name.
    for (const module of project.children ?? []) {
      const found = apiPackages.find(({ folder }) => module.name === `${folder}/src`)
      if (found === undefined) throw new Error(`TypeDoc found an unknown module: ${module.name}`)
      module.name = found.folder
      for (const { children } of module.groups ?? [])
        children.sort((/** @type {{ name: string }} */ a, /** @type {{ name: string }} */ b) =>
          a.name < b.name ? -1 : 1,
        )
    }
    // Only the order of members needs them.
    for (const reflection of Object.values(project.reflections)) delete reflection.sources
    await app.generateOutputs(project)
    for (const { folder, name, description } of apiPackages) {
      const text = readFileSync(join(output, `${folder}.md`), 'utf8')
      writeFileSync(join(apiFolder, `${folder}.md`), text.replace(/^# .*$/m, `# ${name}\n\n${description}`))
    }
  } finally {
    rmSync(output, { recursive: true })
  }
}
