import usePackages from './use-packages.cjs'

await usePackages((name) => import(name), process.argv.slice(2))
