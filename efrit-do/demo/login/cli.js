const { login } = require('./login');

const [name, password] = process.argv.slice(2);

login(name, password, (error, session) => {
  console.log(error ? error.message : `Welcome, ${session.user.name}`);
});
