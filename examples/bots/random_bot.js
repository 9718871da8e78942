require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const message = JSON.parse(line)
  if (message.type === 'hello') console.log('{"type": "ready", "name": "random"}')
  if (message.type === 'ask') console.log(JSON.stringify({ id: message.id, action: message.legal[Math.floor(Math.random() * message.legal.length)] }))
})
