const usePackages = require('./use-packages.cjs')

usePackages(async (name) => require(name), process.argv.slice(2)).catch((error) => {
  console.error(error)
  process.exit(1)
})
