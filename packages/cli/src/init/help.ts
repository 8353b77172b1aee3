export const initHelp = `Writes a configuration to begin with: for the providers whose keys are in the environment (or in .env), else for one of each kind.

  npx modelgate init [options]

Options:
  --ts       modelgate.config.ts: checked by your editor
  --js       modelgate.config.js: the default where there is no TypeScript in this folder
  --json     modelgate.config.json: no code
  --force    writes over a file that is there

Keys stay where they are: the file only names their variables.
`
